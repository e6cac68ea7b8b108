"use strict";
// The buttons of the demo. They are made once, so that the keyboard's focus stays where it is.
const faultButtons = new Map();
const faultNote = (text, kind) => {
  $("fault-note").textContent = text;
  $("fault-note").className = "note " + (kind || "");
};
async function pressFault(name) {
  try {
    const answer = await fetch("faults/" + name, { method: "POST", headers: { "x-cambist-token": $("faults").dataset.token } });
    if (answer.ok) showFaults(await answer.json());
    else faultNote((await answer.text()).trim(), "warn");
  } catch (error) {
    faultNote("the demo does not answer", "bad");
  }
}
function faultButton(fault) {
  const button = make("button");
  button.type = "button";
  button.title = fault.about;
  button.append(make("b", fault.title), make("span"));
  button.onclick = () => pressFault(fault.name);
  button.onfocus = button.onpointerenter = () => faultNote(fault.about);
  faultButtons.set(fault.name, button);
  $("fault-buttons").append(button);
  return button;
}
function showFaults(faults) {
  for (const fault of faults.buttons) {
    const button = faultButtons.get(fault.name) || faultButton(fault);
    const active = fault.active_s !== null;
    button.setAttribute("aria-pressed", String(active));
    button.disabled = Boolean(faults.busy) && !active;
    const left = fault.left_s === null ? "until the quotes are back" : "ends in " + Math.ceil(fault.left_s) + " s";
    button.lastChild.textContent = active ? "for " + Math.floor(fault.active_s) + " s, " + left
      : fault.effect || (fault.lasts_s === null ? "until the quotes are back" : "lasts " + fault.lasts_s + " s");
  }
  if (faults.busy) faultNote(faults.busy, "warn");
}
parts.push((page) => { if (page.faults) showFaults(page.faults); });
