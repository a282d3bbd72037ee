"use strict";
// The laboratory: which system, by which methods.
(async () => {
  const at = (id) => document.getElementById(id);
  const ask = async (what) => {
    const answer = await fetch(what);
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  };
  const query = (values) => new URLSearchParams(values).toString();
  const system = el("select", { id: "system", ariaLabel: "system", onchange: () => choose() });
  const method = el("select", { id: "method", ariaLabel: "method", onchange: () => show() });
  const compare = el("select", { id: "compare", ariaLabel: "compare with", onchange: () => show() });
  const save = el("a", { id: "save", download: "", textContent: "Save as a page" });
  at("choice").append(system, " by ", method, " beside ", compare, " ", save);
  const options = (select, list) => select.replaceChildren(...list.map(([value, text]) => el("option", { value, textContent: text })));
  const say = (words) => { at("wait").textContent = words; at("wait").hidden = !words; };
  let turn = 0;
  const guarded = (work) => async () => {
    const mine = ++turn;
    say("A moment ...");
    try { await work(() => mine === turn); if (mine === turn) say(""); } catch (error) { if (mine === turn) { say(error.message); at("lab").replaceChildren(); } }
  };
  const choose = guarded(async (current) => {
    const about = JSON.parse(await ask("about?" + query({ name: system.value })));
    if (!current()) return;
    at("title").textContent = about.title;
    at("text").textContent = about.text;
    at("equations").innerHTML = about.equations;
    copyFormulas(at("equations"));
    options(method, about.methods.map((name) => [name, name || "in discrete time"]));
    options(compare, [["", "nothing"], ...about.methods.filter((name) => name && about.compared).map((name) => [name, name])]);
    await draw(current);
  });
  const show = guarded((current) => draw(current));
  async function draw(current) {
    const name = system.value, wanted = [method.value, ...(compare.value ? [compare.value] : [])];
    const models = [];
    for (const each of wanted) {
      const place = "model.js?" + query({ name, method: each });
      await ask(place); // what is wrong with it is said here
      models.push((await import(`./${place}&at=${Date.now()}`)).default);
      if (!current()) return;
    }
    save.href = "page?" + query({ name, method: method.value, compare: compare.value });
    save.download = `${name.replace(/\.py$/, "")}.html`;
    laboratory(at("lab"), models);
  }
  try {
    options(system, JSON.parse(await ask("systems")).map(({ name, title }) => [name, `${title} (${name})`]));
    const first = location.hash.slice(1);
    if ([...system.options].some((option) => option.value === first)) system.value = first;
    await choose();
  } catch (error) { say(error.message); }
})();
