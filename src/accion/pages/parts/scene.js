// Bodies and points in space with their trails: `scene(THREE, root, data)`.
function scene(THREE, root, data) {
  const el = (tag, attrs = {}, ...inside) => { const node = Object.assign(document.createElement(tag), attrs); node.append(...inside); return node; };
  const numbers = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const palette = () => [style("--a"), style("--b"), style("--c"), style("--d")].map((c) => new THREE.Color(c));
  const times = numbers(data.times), last = times.length - 1;
  const canvas = el("canvas", { className: "scene", ariaLabel: "the motion in space" });
  let renderer;
  try { renderer = new THREE.WebGLRenderer({ canvas, antialias: true }); } catch (error) {
    root.replaceChildren(el("p", { className: "note", textContent: `This browser cannot draw in space (WebGL): ${error.message}` }));
    return null;
  }
  const world = new THREE.Scene(), camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
  camera.up.set(0, 0, 1);
  world.add(new THREE.HemisphereLight(0xffffff, 0x667788, 2.2));
  const sun = new THREE.DirectionalLight(0xffffff, 1.6);
  sun.position.set(2, -3, 5); world.add(sun);

  const things = data.things.map((thing) => ({ ...thing, places: numbers(thing.places), turns: thing.turns && numbers(thing.turns) }));
  const box = new THREE.Box3(), v = new THREE.Vector3();
  for (const { places } of things) for (let i = 0; i + 2 < places.length; i += 3) {
    v.fromArray(places, i);
    if (Number.isFinite(v.x + v.y + v.z)) box.expandByPoint(v);
  }
  const middle = box.getCenter(new THREE.Vector3()), reach = box.getSize(new THREE.Vector3()).length() / 2;
  const still = things.every((thing) => thing.turns) && reach < 1e-9;
  const size = still ? 1 : reach * (things.some((thing) => thing.turns) ? 0.16 : 0.1), radius = still ? 1.3 : 1.15 * reach + size;

  const made = [];
  function body(thing, color, shades) {
    const group = new THREE.Group(), one = thing.sizes || [1, 0.7, 0.4];
    group.add(new THREE.Mesh(new THREE.BoxGeometry(...one), new THREE.MeshStandardMaterial({ color, roughness: 0.5, transparent: true, opacity: 0.92 })));
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, i) =>
      group.add(new THREE.ArrowHelper(new THREE.Vector3(...axis), new THREE.Vector3(), 1.1, shades[i + 1], 0.14, 0.08)));
    group.matrixAutoUpdate = false;
    return group;
  }
  const line = (positions, color, opacity) => {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(positions, 3));
    const object = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color, transparent: true, opacity }));
    object.frustumCulled = false;
    return object;
  };
  function build() {
    for (const { objects } of made) objects.forEach((object) => world.remove(object));
    made.length = 0;
    const shades = palette();
    world.background = new THREE.Color(style("--card"));
    things.forEach((thing, i) => {
      const color = shades[thing.run % 4], objects = [];
      if (thing.turns) {
        const tips = new Float32Array(thing.places.length);
        for (let k = 0; k <= last; k++) for (let j = 0; j < 3; j++)
          tips[3 * k + j] = thing.places[3 * k + j] + (still ? thing.turns[9 * k + 3 * j + 2] * size * 1.1 : 0);
        objects.push(body(thing, color, shades), line(tips, still ? shades[3] : color, 0.8));
      } else {
        const ball = new THREE.InstancedMesh(new THREE.SphereGeometry(thing.count > 30 ? 0.12 : 0.3, 16, 12), new THREE.MeshStandardMaterial({ color, roughness: 0.5 }), thing.count);
        ball.frustumCulled = false;
        objects.push(ball);
        if (thing.joined) objects.push(line(new Float32Array(3 * thing.count), color, 1));
        const trails = Math.min(thing.count, 60);
        for (let p = thing.joined ? thing.count - 1 : 0; p < (thing.joined ? thing.count : trails); p++) {
          const path = new Float32Array(3 * (last + 1));
          for (let k = 0; k <= last; k++) for (let j = 0; j < 3; j++) path[3 * k + j] = thing.places[3 * (k * thing.count + p) + j];
          objects.push(line(path, thing.joined ? shades[1] : color, 0.7));
        }
      }
      objects.forEach((object) => world.add(object));
      made.push({ thing, objects });
    });
  }
  const matrix = new THREE.Matrix4();
  function put(k, scale) {
    const from = Math.max(0, k - Math.round(data.trail * last));
    for (const { thing, objects } of made) {
      if (thing.turns) {
        const R = thing.turns.subarray(9 * k, 9 * k + 9), o = thing.places.subarray(3 * k, 3 * k + 3), s = size * scale;
        objects[0].matrix.set(R[0] * s, R[1] * s, R[2] * s, o[0], R[3] * s, R[4] * s, R[5] * s, o[1], R[6] * s, R[7] * s, R[8] * s, o[2], 0, 0, 0, 1);
        objects[0].matrixWorldNeedsUpdate = true;
        objects[1].geometry.setDrawRange(from, k - from + 1);
        continue;
      }
      const now = thing.places.subarray(3 * thing.count * k, 3 * thing.count * (k + 1));
      for (let p = 0; p < thing.count; p++) {
        const there = Number.isFinite(now[3 * p]), s = there ? size * scale : 0;
        matrix.makeScale(s, s, s);
        if (there) matrix.setPosition(now[3 * p], now[3 * p + 1], now[3 * p + 2]);
        objects[0].setMatrixAt(p, matrix);
      }
      objects[0].instanceMatrix.needsUpdate = true;
      objects.slice(1).forEach((object, i) => {
        if (thing.joined && i === 0) { object.geometry.attributes.position.array.set(now); object.geometry.attributes.position.needsUpdate = true; } else object.geometry.setDrawRange(from, k - from + 1);
      });
    }
  }

  let turn = 0.7, lift = 0.45, far = 2.3 * radius, playing = true, at = 0, before = 0, scale = 1;
  const pointers = new Map();
  canvas.addEventListener("pointerdown", (e) => { pointers.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (e) => pointers.delete(e.pointerId));
  canvas.addEventListener("pointermove", (e) => {
    const old = pointers.get(e.pointerId);
    if (!old) return;
    if (pointers.size === 1) {
      turn -= (e.clientX - old[0]) / 150;
      lift = Math.max(-1.5, Math.min(1.5, lift + (e.clientY - old[1]) / 150));
    } else {
      const [other] = [...pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      far *= apart(old) / Math.max(1, apart([e.clientX, e.clientY]));
    }
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
  });
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); far *= Math.exp(e.deltaY / 800); }, { passive: false });

  const play = el("button", { textContent: "Pause", onclick: () => { playing = !playing; play.textContent = playing ? "Pause" : "Play"; } });
  const bar = el("input", { type: "range", min: 0, max: last, value: 0, ariaLabel: "time", oninput: () => { at = +bar.value; playing = false; play.textContent = "Play"; } });
  const bigger = el("input", { type: "range", min: -2, max: 2, step: 0.01, value: 0, ariaLabel: "size of the bodies", oninput: () => { scale = 2 ** +bigger.value; } });
  const clock = el("output", { className: "clock" });
  root.replaceChildren(canvas, el("div", { className: "bar" }, play, bar, el("label", {}, "size ", bigger), clock),
    el("p", { className: "hint", textContent: "Drag to turn, scroll or pinch to come nearer." }));
  build();
  dark.addEventListener("change", build);
  function frame(now) {
    const seconds = Math.min(0.1, (now - before) / 1000 || 0);
    before = now;
    if (playing && last) { at += seconds * last / data.seconds; if (at > last) at = 0; bar.value = Math.round(at); }
    const k = Math.round(at), w = canvas.clientWidth, h = canvas.clientHeight;
    renderer.setPixelRatio(window.devicePixelRatio);
    renderer.setSize(w, h, false);
    camera.aspect = w / h; camera.near = far / 500; camera.far = far * 20; camera.updateProjectionMatrix();
    const wide = far / Math.min(1, w / h);
    camera.position.set(middle.x + wide * Math.cos(lift) * Math.cos(turn), middle.y + wide * Math.cos(lift) * Math.sin(turn), middle.z + wide * Math.sin(lift));
    camera.lookAt(middle);
    put(k, scale);
    clock.textContent = `t = ${times[k].toPrecision(4)} s`;
    renderer.render(world, camera);
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
  return { renderer, made };
}
