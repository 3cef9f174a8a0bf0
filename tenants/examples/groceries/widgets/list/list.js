import { connect } from "./bridge.js";

const byId = (id) => document.getElementById(id);

function show({ data }) {
  const left = data.items.filter((item) => !item.ticked).length;
  byId("left").textContent = left ? `${left} to buy` : "All done";
  byId("items").replaceChildren(...data.items.map(row));
}

function row(item) {
  const line = document.createElement("li");
  line.className = item.ticked ? "ticked" : "";
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = item.ticked;
  box.addEventListener("change", () => act("tick_item", { id: item.id, ticked: box.checked }));
  const name = document.createElement("span");
  name.textContent = item.name;
  const amount = document.createElement("small");
  amount.textContent = item.amount;
  label.append(box, name, amount);
  const remove = document.createElement("button");
  remove.textContent = "×";
  remove.setAttribute("aria-label", `Remove ${item.name}`);
  remove.addEventListener("click", () => act("remove_item", { id: item.id }));
  line.append(label, remove);
  return line;
}

async function act(tool, args) {
  byId("trouble").textContent = "";
  try {
    const result = await host.then((app) => app.call(tool, args));
    if (result.isError) byId("trouble").textContent = result.content?.[0]?.text ?? "That did not work.";
  } catch (error) {
    byId("trouble").textContent = error.message;
  }
}

byId("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  await act("add_item", Object.fromEntries(new FormData(form)));
  form.reset();
  form.elements.name.focus();
});

const host = connect({ name: "groceries", show, theme: (name) => {
  document.documentElement.style.colorScheme = name;
} });
