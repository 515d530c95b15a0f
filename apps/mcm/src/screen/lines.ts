import { CONTROLLER_NAMES, type ControllerHealth, controllerSentence } from '../controllers/health.ts';
import { CONTROL_PLANE } from '../controllers/programs.ts';
import type { FleetView } from './fleet.ts';

/** Formats the changes of a fleet as lines, for an output that is not a terminal. */
export class FleetLines {
  #phases = new Map<string, string>();
  #rollouts = new Map<string, string>();
  #stopped: readonly ControllerHealth[] = [];

  /** Returns lines about the changes since the previous call. */
  next(fleet: FleetView, now: Date): string[] {
    const lines: string[] = [];
    const phases = new Map(fleet.machines.map((machine) => [machine.name, machine.phase]));
    for (const machine of fleet.machines) {
      if (this.#phases.get(machine.name) === machine.phase) continue;
      const because =
        machine.phase === 'Running'
          ? machine.node
            ? ` on node ${machine.node}`
            : ''
          : machine.doing
            ? `: ${machine.doing}`
            : '';
      lines.push(`machine ${machine.name} ${machine.phase}${because}`);
    }
    for (const name of this.#phases.keys()) if (!phases.has(name)) lines.push(`machine ${name} gone`);
    const rollouts = new Map(
      fleet.deployments.map((d) => [
        d.name,
        `${d.available}/${d.desired} available, ${d.updated} updated${d.old > 0 ? `, ${d.old} old` : ''}`,
      ]),
    );
    for (const [name, text] of rollouts)
      if (this.#rollouts.get(name) !== text) lines.push(`machinedeployment ${name} ${text}`);
    const { controllers } = fleet;
    for (const health of controllers)
      if (!this.#stopped.some(({ name }) => name === health.name)) {
        lines.push(controllerSentence(health, now), ...health.effects.map((effect) => `  ${effect}`));
      }
    const absent = this.#stopped.filter(({ name }) => !controllers.some((health) => health.name === name));
    // While the API server does not respond, the state of the controllers is unknown.
    const hidden = controllers.some(({ name }) => name === CONTROL_PLANE) ? absent : [];
    for (const { name } of absent)
      if (hidden.length === 0)
        lines.push(
          `${CONTROLLER_NAMES.some((known) => known === name) ? 'controller' : 'program'} ${name} is working again`,
        );
    this.#stopped = [...controllers, ...hidden];
    this.#phases = phases;
    this.#rollouts = rollouts;
    return lines;
  }
}
