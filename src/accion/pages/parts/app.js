"use strict";
// A system under one or two methods, moving: `laboratory(root, models, extra)`.

const el = (tag, attrs = {}, ...inside) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attrs)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && key !== "list") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...inside);
  return node;
};
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = (x, n = 6) => {
  const text = Math.abs(x) >= 1e5 || (x && Math.abs(x) < 1e-3) ? x.toExponential(3).replace(/\.?0+e/, "e") : String(+x.toPrecision(n));
  return text.replace("e+", "e").replaceAll("-", "\u2212");
};
const copied = async (text, button) => {
  try { await navigator.clipboard.writeText(text); } catch {
    const area = el("textarea", { value: text });
    document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
  }
  const before = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = before; }, 900);
};

// A run of a model from a start, which goes on as long as it is asked to.
class Run {
  constructor(model, numbers, h, start) {
    const { facts } = model;
    Object.assign(this, { model, h, numbers, k: 0, failed: false });
    this.base = numbers.length;
    this.size = facts.channels.reduce((n, c) => n + c.size, 0);
    this.inputs = new Float64Array(this.base + 2 + facts.state);
    this.inputs.set(numbers);
    this.inputs[this.base + 1] = h;
    this.state = new Float64Array(facts.state);
    this.row = new Float64Array(this.size);
    model.begin([...numbers, facts.t0, h, ...start], this.state);
    this.load();
  }
  get t() { return this.model.facts.t0 + this.k * this.h; }
  load() { this.inputs[this.base] = this.t; this.inputs.set(this.state, this.base + 2); }
  step() {
    this.model.step(this.inputs, this.state);
    this.k += 1;
    this.load();
  }
  show() {
    this.model.show(this.inputs, this.row);
    this.failed = !(this.row[this.model.q] === this.row[this.model.q]);
    return this.row;
  }
  points() {
    const { model } = this;
    if (!model.points) return null;
    return model.points([...this.numbers, ...this.row.subarray(model.q, model.q + model.sizeOfQ)]);
  }
}

// Values over time, thinned out when there are many.
class History {
  constructor(size) { Object.assign(this, { size, t: [], rows: [], every: 1, seen: 0 }); }
  add(t, row) {
    if (this.seen++ % this.every) return;
    this.t.push(t); this.rows.push(Float64Array.from(row));
    if (this.t.length > 3000) {
      this.t = this.t.filter((_, i) => i % 2 === 0);
      this.rows = this.rows.filter((_, i) => i % 2 === 0);
      this.every *= 2;
    }
  }
}

function canvasOf(label, tall) {
  const canvas = el("canvas", { className: tall ? "tall" : "", role: "img", ariaLabel: label });
  canvas.fit = () => {
    const dpr = window.devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = canvas;
    if (canvas.width !== Math.round(w * dpr) || canvas.height !== Math.round(h * dpr)) {
      canvas.width = Math.round(w * dpr); canvas.height = Math.round(h * dpr);
    }
    const c = canvas.getContext("2d");
    c.setTransform(dpr, 0, 0, dpr, 0, 0);
    c.clearRect(0, 0, w, h);
    c.font = "12px system-ui, sans-serif"; c.lineJoin = "round";
    return [c, w, h];
  };
  return canvas;
}

const range = (values) => {
  let low = Infinity, high = -Infinity;
  for (const x of values) if (x === x) { low = Math.min(low, x); high = Math.max(high, x); }
  if (!(low <= high)) return [0, 1];
  const least = 1e-12 * Math.max(Math.abs(low), Math.abs(high)) + 1e-300;
  const room = high - low > least ? 0.06 * (high - low) : Math.max(Math.abs(high) * 1e-9, 1e-12);
  return [low - room, high + room];
};
function ticks(low, high, most) {
  const raw = (high - low) / most, size = 10 ** Math.floor(Math.log10(raw));
  const step = size * [1, 2, 5, 10].find((m) => m * size >= raw);
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) found.push(Math.abs(x) < step / 1e6 ? 0 : x);
  return found;
}

// Lines in a frame with numbers at its sides. `series`: {x, y, color, dash}.
function chart(canvas, series, xName, yName, square) {
  const [c, w, h] = canvas.fit();
  let [x0, x1] = range(series.flatMap((s) => s.x)), [y0, y1] = range(series.flatMap((s) => s.y));
  const offset = Math.max(Math.abs(y0), Math.abs(y1)) > 1e3 * (y1 - y0) ? (y0 + y1) / 2 : 0;
  const left = 58, right = w - 10, top = 22, bottom = h - 30;
  if (right < left + 20 || bottom < top + 20) return;
  if (square) {
    const scale = Math.max((x1 - x0) / (right - left), (y1 - y0) / (bottom - top));
    const grow = (a, b, n) => [(a + b) / 2 - scale * n / 2, (a + b) / 2 + scale * n / 2];
    [x0, x1] = grow(x0, x1, right - left); [y0, y1] = grow(y0, y1, bottom - top);
  }
  const X = (x) => left + (x - x0) / (x1 - x0) * (right - left);
  const Y = (y) => bottom - (y - y0) / (y1 - y0) * (bottom - top);
  c.strokeStyle = color("--line"); c.fillStyle = color("--soft"); c.lineWidth = 1;
  c.textAlign = "center"; c.textBaseline = "top";
  for (const x of ticks(x0, x1, Math.max(2, w / 90))) {
    c.beginPath(); c.moveTo(X(x), top); c.lineTo(X(x), bottom); c.stroke();
    c.fillText(short(x, 4), X(x), bottom + 4);
  }
  c.textAlign = "right"; c.textBaseline = "middle";
  for (const y of ticks(y0 - offset, y1 - offset, Math.max(2, h / 45))) {
    c.beginPath(); c.moveTo(left, Y(y + offset)); c.lineTo(right, Y(y + offset)); c.stroke();
    c.fillText(short(y, 4), left - 5, Y(y + offset));
  }
  c.textAlign = "left"; c.textBaseline = "top";
  c.fillText(yName + (offset ? ` ${offset < 0 ? "+" : "\u2212"} ${short(Math.abs(offset), 8).replace("\u2212", "")}` : ""), left, 4);
  c.textAlign = "right"; c.fillText(xName, right, bottom + 17);
  c.save(); c.beginPath(); c.rect(left, top, right - left, bottom - top); c.clip();
  for (const s of series) {
    c.strokeStyle = s.color; c.lineWidth = s.dash ? 1.3 : 1.6; c.setLineDash(s.dash ? [5, 4] : []);
    c.beginPath();
    for (let i = 0; i < s.x.length; i++) c.lineTo(X(s.x[i]), Y(s.y[i]));
    c.stroke();
    const last = s.x.length - 1;
    if (last >= 0 && square !== undefined) {
      c.fillStyle = s.color; c.beginPath(); c.arc(X(s.x[last]), Y(s.y[last]), 3.5, 0, 7); c.fill();
    }
  }
  c.setLineDash([]); c.restore();
}

function laboratory(root, models, extra = {}) {
  for (const m of models) {
    const of = (name) => m.facts.channels.filter((c) => c.name === name || c.name.startsWith(name + "_"));
    const q = of("q");
    m.q = q[0].at;
    m.sizeOfQ = q.reduce((n, c) => n + c.size, 0);
    m.channel = Object.fromEntries(m.facts.channels.map((c) => [c.name, c]));
    m.entries = m.facts.channels.flatMap((c) => c.labels.map((label, i) => ({ label, at: c.at + i })));
  }
  const model = models[0], { facts } = model;
  const state = { playing: true, speed: 1, copies: extra.copies || 1, spread: extra.spread || 1e-3, h: facts.h, cost: 0, say: "" };
  const numbers = facts.numbers.flatMap((n) => n.entries.map((e) => e.value));
  const start = facts.start.flatMap((n) => n.entries.map((e) => e.value));
  const span = facts.h * facts.steps;
  state.speed = span > 6 && span < 60 ? 1 : +(span / 15).toPrecision(3);
  let runs = [], copies = [], histories = [], bounds = null, trail = [], angle = [0.6, 0.35], due = 0;

  const motion = canvasOf("the motion", true), energy = canvasOf("energy over time");
  const momenta = canvasOf("momenta over time"), control = canvasOf("controls over time"), phase = canvasOf("phase portrait");
  const clock = el("output", { className: "clock" }), note = el("p", { className: "note", role: "status" });
  const python = el("pre", { className: "python", tabIndex: 0 });

  function begin() {
    state.say = "";
    try {
      runs = models.map((m) => new Run(m, numbers, state.h, start));
      const first = copyIndex();
      copies = [];
      for (let i = 0; i < state.copies && state.copies > 1; i++) {
        const own = [...start];
        own[first] += state.spread * (i / (state.copies - 1) - 0.5);
        copies.push(new Run(model, numbers, state.h, own));
      }
    } catch (error) { state.say = String(error.message || error); runs = []; return; }
    histories = runs.map((r) => new History(r.size));
    runs.forEach((r, i) => histories[i].add(r.t, r.show()));
    trail = []; due = 0; bounds = null;
    if (runs.some((r) => r.failed)) state.say = "nothing can start there: choose other numbers.";
    else measure();
    tell();
  }
  // The first of the numbers of the start that are free.
  function copyIndex() {
    let at = 0;
    for (const part of facts.start) { if (part.free) return at; at += part.entries.length; }
    return 0;
  }
  // How much room the motion takes, from a run that nobody sees.
  function measure() {
    const scout = new Run(model, numbers, state.h, start), end = performance.now() + 60;
    const every = Math.max(1, Math.round(span / state.h / 400));
    for (let i = 0; i < 400 && performance.now() < end; i++) {
      scout.show();
      if (scout.failed) break;
      widen(scout);
      for (let j = 0; j < every; j++) scout.step();
    }
  }

  // ---------------------------------------------------------------- the picture
  const project = (x, y, z) => {
    const [a, b] = angle, X = x * Math.cos(a) + y * Math.sin(a), Y = y * Math.cos(a) - x * Math.sin(a);
    return [X, z * Math.cos(b) + Y * Math.sin(b)];
  };
  const kind = model.points ? "points" : facts.bodies.length ? "bodies"
    : facts.flat && !facts.angles && model.sizeOfQ === 2 ? "plane"
    : facts.flat && !facts.angles && model.sizeOfQ === 3 ? "space" : "time";
  const turns = kind === "space" || kind === "bodies" && facts.bodies.some((b) => b.kind[2] === "3") || kind === "points" && facts.points.dim === 3;
  // Lines to draw, each a list of points of the plane (null is a gap), and where the trail is.
  function picture(run) {
    const q = run.row.subarray(model.q, model.q + model.sizeOfQ);
    if (kind === "points") {
      const p = run.points(), { count, dim } = facts.points, line = [];
      for (let i = 0; i < count; i++) {
        const at = p.subarray(i * dim, (i + 1) * dim);
        line.push(at[0] !== at[0] ? null : dim === 3 ? project(...at) : [at[0], at[1]]);
      }
      return { lines: [line], tip: line.findLast((x) => x), dots: count < 60 };
    }
    if (kind === "plane") return { lines: [[[q[0], q[1]]]], tip: [q[0], q[1]], dots: true };
    if (kind === "space") { const tip = project(...q); return { lines: [[tip]], tip, dots: true }; }
    const lines = [];
    let tip = null;
    for (const body of facts.bodies) {
      const n = { SO2: 2, SO3: 3, SE2: 3, SE3: 4 }[body.kind], M = (i, j) => q[body.at + n * i + j];
      if (body.kind[2] === "2") {
        const o = body.kind === "SE2" ? [M(0, 2), M(1, 2)] : [0, 0];
        const at = (x, y) => [o[0] + M(0, 0) * x + M(0, 1) * y, o[1] + M(1, 0) * x + M(1, 1) * y];
        lines.push([at(-0.5, -0.2), at(0.5, -0.2), at(0.5, 0.2), at(-0.5, 0.2), at(-0.5, -0.2)], [at(0, 0), at(0.8, 0)]);
        tip = at(0, 0);
      } else {
        const o = body.kind === "SE3" ? [M(0, 3), M(1, 3), M(2, 3)] : body.point === null ? [0, 0, 0] : [q[body.point], q[body.point + 1], q[body.point + 2]];
        const at = (x, y, z) => project(...[0, 1, 2].map((i) => o[i] + M(i, 0) * x + M(i, 1) * y + M(i, 2) * z));
        const [a, b, d] = [0.5, 0.35, 0.2], far = (s) => [[-a, -b], [a, -b], [a, b], [-a, b], [-a, -b]].map(([x, y]) => at(x, y, s * d));
        lines.push(far(1), far(-1), ...[[-a, -b], [a, -b], [a, b], [-a, b]].map(([x, y]) => [at(x, y, d), at(x, y, -d)]));
        lines.push(Object.assign([at(0, 0, 0), at(1, 0, 0)], { axis: 0 }), Object.assign([at(0, 0, 0), at(0, 1, 0)], { axis: 1 }), Object.assign([at(0, 0, 0), at(0, 0, 1)], { axis: 2 }));
        tip = body.kind === "SO3" && body.point === null ? at(0, 0, 1) : project(...o);
      }
    }
    if (!lines.length) return null;
    return { lines, tip, dots: false };
  }
  function widen(run) {
    const seen = kind === "time" ? null : picture(run);
    if (!seen) return;
    for (const line of seen.lines) for (const p of line) {
      if (!p || !(p[0] === p[0])) continue;
      bounds ??= [p[0], p[0], p[1], p[1]];
      bounds = [Math.min(bounds[0], p[0]), Math.max(bounds[1], p[0]), Math.min(bounds[2], p[1]), Math.max(bounds[3], p[1])];
    }
  }
  const shades = () => [color("--a"), color("--b"), color("--c"), color("--d")];
  function drawMotion() {
    const colors = shades();
    if (kind === "time") {
      const q = facts.channels.filter((c) => /^q/.test(c.name)).flatMap((c) => c.labels.map((label, i) => [label, c.at + i])).slice(0, 8);
      const own = histories[0];
      chart(motion, q.map(([, at], i) => ({ x: own.t, y: own.rows.map((r) => r[at]), color: colors[i % 4] })), "t [s]", q.map(([label]) => label).join(", "), false);
      return;
    }
    const [c, w, h] = motion.fit();
    const seen = runs.map((r) => r.failed ? null : picture(r));
    [...runs, ...copies.slice(0, 1), ...copies.slice(-1)].forEach((r) => { if (!r.failed) widen(r); });
    if (!bounds) return;
    const [x0, x1, y0, y1] = bounds, big = Math.max(x1 - x0, y1 - y0, 1e-9);
    const scale = Math.min((w - 40) / Math.max(x1 - x0, big / 20), (h - 40) / Math.max(y1 - y0, big / 20));
    const P = ([x, y]) => [w / 2 + (x - (x0 + x1) / 2) * scale, h / 2 - (y - (y0 + y1) / 2) * scale];
    const draw = (line, style, width) => {
      c.strokeStyle = style; c.lineWidth = width; c.beginPath();
      let up = true;
      for (const p of line) { if (!p) { up = true; continue; } c[up ? "moveTo" : "lineTo"](...P(p)); up = false; }
      c.stroke();
    };
    if (seen[0]?.tip && state.playing) trail.push(seen[0].tip);
    if (trail.length > 400) trail.shift();
    c.globalAlpha = 0.5; draw(trail, colors[1], 1); c.globalAlpha = 1;
    if (copies.length) {
      c.globalAlpha = Math.max(0.08, Math.min(0.6, 60 / copies.length));
      c.strokeStyle = colors[2]; c.lineWidth = 1; c.beginPath();
      for (const run of copies) {
        // The state begins with the configuration: the whole row is not needed for it.
        run.row.set(run.state.subarray(0, model.sizeOfQ), model.q);
        for (const line of picture(run).lines) {
          let up = true;
          for (const p of line) { if (!p || p[0] !== p[0]) { up = true; continue; } c[up ? "moveTo" : "lineTo"](...P(p)); up = false; }
          if (line.length === 1 && line[0]) { const [x, y] = P(line[0]); c.rect(x - 1, y - 1, 2, 2); }
        }
      }
      c.stroke(); c.globalAlpha = 1;
    }
    seen.forEach((one, i) => {
      if (!one) return;
      for (const line of one.lines) {
        const style = line.axis === undefined ? colors[i ? 1 : 0] : colors[[1, 2, 3][line.axis]];
        draw(line, style, line.length > 60 ? 0.7 : 2.4);
        if (one.dots) for (const p of line) if (p) { c.fillStyle = style; c.beginPath(); c.arc(...P(p), 5, 0, 7); c.fill(); }
      }
    });
  }
  let dragged = null;
  motion.addEventListener("pointerdown", (e) => { if (turns) { dragged = [e.clientX, e.clientY]; motion.setPointerCapture(e.pointerId); } });
  motion.addEventListener("pointermove", (e) => {
    if (!dragged) return;
    angle = [angle[0] + (e.clientX - dragged[0]) / 120, Math.max(-1.5, Math.min(1.5, angle[1] + (e.clientY - dragged[1]) / 120))];
    dragged = [e.clientX, e.clientY]; trail = []; bounds = null; measure();
  });
  motion.addEventListener("pointerup", () => { dragged = null; });
  if (turns) motion.classList.add("turns");

  // ---------------------------------------------------------------- the charts
  const axes = [model.q, (model.channel.v || model.channel.p || { at: model.q }).at];
  const choose = (which) => el("select", { ariaLabel: which ? "upright" : "along", onchange: (e) => { axes[which] = +e.target.value; } },
    ...model.entries.map((entry) => el("option", { value: entry.at, selected: entry.at === axes[which], textContent: entry.label })));
  function drawCharts() {
    const colors = shades();
    const over = (canvas, name, size) => {
      const channel = model.channel[name];
      if (!channel) return;
      const series = [];
      histories.forEach((own, i) => {
        for (let j = 0; j < Math.min(channel.size, size); j++)
          series.push({ x: own.t, y: own.rows.map((r) => r[models[i].channel[name].at + j]), color: colors[(i + j) % 4], dash: i === 1 });
      });
      chart(canvas, series, "t [s]", channel.size > 1 ? channel.labels.slice(0, size).join(", ") : channel.labels[0] + (channel.unit ? ` [${channel.unit}]` : ""));
    };
    over(energy, "energy", 1);
    over(momenta, "p", 4);
    over(control, "u", 4);
    const label = (at) => model.entries.find((entry) => entry.at === at).label;
    chart(phase, histories.map((own, i) => ({ x: own.rows.map((r) => r[axes[0]]), y: own.rows.map((r) => r[axes[1]]), color: colors[i], dash: i === 1 })), label(axes[0]), label(axes[1]), false);
  }
  function tell() {
    const lost = state.say || (runs.some((r) => r.failed) ? `no step can be made at t = ${short(runs.find((r) => r.failed).t)} s: take a smaller step.` : "");
    note.textContent = lost;
    note.hidden = !lost;
    const t = runs.length ? runs[0].t : facts.t0;
    clock.textContent = `t = ${t.toFixed(3)} s, ${runs.length ? runs[0].k : 0} steps` + (copies.length ? `, ${copies.length} copies, ${state.cost.toFixed(1)} ms a frame` : "");
  }

  // ---------------------------------------------------------------- what moves it
  function advance(seconds) {
    due += seconds * state.speed / Math.abs(state.h);
    const began = performance.now();
    let made = 0;
    const ended = () => facts.recorded && runs[0].k >= facts.steps;
    while (due >= 1 && runs.length && !runs[0].failed && !ended()) {
      due -= 1; made += 1;
      for (const run of runs) if (!run.failed) run.step();
      for (const run of copies) run.step();
      if (made % 8 === 0 || copies.length) {
        if (performance.now() - began > 12) { due = Math.min(due, 1); break; }
      }
      if (due < 64 || made % 4 === 0) runs.forEach((r, i) => { r.show(); if (!r.failed) histories[i].add(r.t, r.row); });
    }
    if (made) runs.forEach((r, i) => { r.show(); if (!r.failed) histories[i].add(r.t, r.row); });
    // A motion that was computed before begins again after a second.
    if (runs.length && ended() && due > Math.abs(state.speed / state.h)) begin();
  }
  let before = 0, frames = 0;
  function frame(now) {
    const seconds = Math.min(0.1, (now - before) / 1000 || 0);
    before = now;
    const began = performance.now();
    if (state.playing && !document.hidden) advance(seconds);
    if (state.playing || frames % 10 === 0) drawMotion();
    state.cost = 0.9 * state.cost + 0.1 * (performance.now() - began);
    if (frames++ % 4 === 0) { drawCharts(); tell(); }
    if (root.isConnected && root.laboratory === own) requestAnimationFrame(frame);
  }

  // ---------------------------------------------------------------- the controls
  function slider(label, value, set, low, high, log) {
    const size = Math.abs(value) || 1;
    low ??= value > 0 ? 0 : value - 3 * size;
    high ??= value > 0 ? 3 * value : value + 3 * size;
    const to = log ? Math.log10 : (x) => x, back = log ? (x) => 10 ** x : (x) => x;
    const box = el("input", { type: "number", value: +value.toPrecision(8), step: "any", ariaLabel: label });
    const bar = el("input", { type: "range", min: to(low), max: to(high), step: (to(high) - to(low)) / 600, value: to(value), ariaLabel: `${label}, slider` });
    bar.addEventListener("input", () => { const x = +back(+bar.value).toPrecision(5); box.value = x; set(x); });
    box.addEventListener("change", () => { const x = +box.value; if (box.value !== "" && isFinite(x)) { bar.value = to(x); set(x); } });
    return el("label", { className: "slider" }, el("span", { textContent: label }), bar, box);
  }
  const changed = () => { begin(); write(); drawMotion(); drawCharts(); };
  const group = (title, items, open = true) => items.length ? el("details", { open }, el("summary", { textContent: title }), ...items) : "";
  function sliders(list, values, named) {
    let at = 0;
    const found = [];
    for (const part of list) for (const entry of part.entries) {
      const i = at++;
      if (part.free === false || found.length > 23) continue;
      found.push(slider(named(part, entry), entry.value, (x) => { values[i] = x; changed(); }));
    }
    return found;
  }
  const play = el("button", { textContent: "Pause", onclick: () => { state.playing = !state.playing; play.textContent = state.playing ? "Pause" : "Play"; } });
  const again = el("button", { textContent: "Start again", onclick: () => changed() });
  const one = el("button", { textContent: "One step", onclick: () => {
    state.playing = false; play.textContent = "Play"; due = 1;
    advance(0); drawMotion(); drawCharts(); tell();
  } });
  const controls = el("div", { className: "controls" },
    group("Start", sliders(facts.start, start, (part, entry) => entry.label)),
    group("Parameters", sliders(facts.numbers, numbers, (part, entry) => part.shape.length ? `${part.name}${entry.label.slice(part.name.length)}` : part.name)),
    group(facts.recorded ? "Pace" : "Step and pace", [
      facts.recorded ? "" : slider("step h [s]", facts.h, (x) => { if (x) { state.h = x; changed(); } }, facts.h / 30, facts.h * 30, true),
      slider("pace", state.speed, (x) => { state.speed = x; }, state.speed / 50, state.speed * 50, true),
    ]),
    group("Many copies", facts.recorded ? [] : [
      slider("copies", state.copies, (x) => { state.copies = Math.max(1, Math.min(5000, Math.round(x))); changed(); }, 1, 5000, true),
      slider("spread", state.spread, (x) => { state.spread = x; changed(); }, 1e-6, 10, true),
    ], state.copies > 1));

  // ---------------------------------------------------------------- the Python that does the same
  function write() {
    if (facts.recorded) { python.textContent = facts.python; return; }
    const number = (x) => Number.isInteger(x) && Math.abs(x) < 1e15 ? x.toFixed(1) : String(x);
    const nested = (flat, shape) => shape.length === 0 ? number(flat[0])
      : `[${Array.from({ length: shape[0] }, (_, i) => nested(flat.slice(i * flat.length / shape[0], (i + 1) * flat.length / shape[0]), shape.slice(1))).join(", ")}]`;
    const lines = ["import accion as ac", facts.methodPython.imports, facts.python];
    let at = 0;
    const other = [];
    for (const part of facts.numbers) {
      const own = numbers.slice(at, at + part.entries.length);
      at += part.entries.length;
      if (own.some((x, i) => x !== part.entries[i].value)) other.push([part, nested(own, part.shape)]);
    }
    if (other.length && facts.plain && other.every(([part]) => !part.name.includes(".")))
      lines.push(`system = system.with_params(system.params | {${other.map(([part, x]) => `${JSON.stringify(part.name)}: ${x}`).join(", ")}})`);
    else if (other.length) lines.push("import jax", "leaves, tree = jax.tree.flatten(system.params)",
      ...other.map(([part, x]) => `leaves[${part.leaf}] = ${x}  # ${part.name}`), "system = system.with_params(jax.tree.unflatten(tree, leaves))");
    at = 0;
    const parts = {};
    for (const part of facts.start) {
      (parts[part.part] ??= []).push(nested(start.slice(at, at + part.entries.length), part.shape));
      at += part.entries.length;
    }
    const given = Object.entries(parts).map(([name, list]) => `    ${name}=${list.length > 1 ? `(${list.map((x) => `np.array(${x})`).join(", ")})` : list[0]},`);
    if (given.some((line) => line.includes("np."))) lines.unshift("import numpy as np");
    models.forEach((m, i) => {
      if (i) lines.push(m.facts.methodPython.imports);
      lines.push(`${i ? "other" : "traj"} = ac.simulate(`, `    system, ${m.facts.methodPython.text},`, ...given, `    t0=${number(facts.t0)}, h=${state.h}, steps=${facts.steps},`, ")");
    });
    lines.push("traj.plot().savefig(\"motion.png\")");
    python.textContent = lines.filter((line) => line).join("\n");
  }

  const own = {};
  root.laboratory = own;
  const copy = el("button", { textContent: "Copy", onclick: (e) => copied(python.textContent, e.target) });
  const methods = models.map((m, i) => `${m.facts.method || "in discrete time"}${models.length > 1 ? (i ? " (dashed)" : " (solid)") : ""}`).join(" and ");
  root.replaceChildren(
    el("div", { className: "stage" }, motion,
      el("div", { className: "bar" }, play, one, again, clock), note,
      el("p", { className: "hint", textContent: `${facts.recorded ? "Computed before, as the best of many: " : ""}${methods}, h = ${short(facts.h)} s.${turns ? " Drag to turn." : ""}` })),
    controls,
    el("div", { className: "charts" }, ...(model.channel.energy ? [energy] : []), momenta, ...(model.channel.u ? [control] : []),
      el("figure", {}, phase, el("figcaption", {}, choose(0), " and ", choose(1)))),
    el("details", { className: "same" }, el("summary", { textContent: "The Python that does the same" }), copy, python));
  begin(); write();
  requestAnimationFrame(frame);
  own.api = { state, get runs() { return runs; }, get copies() { return copies; }, numbers, start, advance, drawMotion };
  return own.api;
}

function copyFormulas(root) {
  for (const annotation of root.querySelectorAll("annotation")) {
    annotation.closest(".formula").append(el("button", { className: "copy", textContent: "copy LaTeX", onclick: (e) => copied(annotation.textContent, e.target) }));
  }
}
