import type { MachineSet } from '@mcm/api';
import { Journal, journalLines, repeatDecision } from '@mcm/core';

export const setNamed = (name: string, annotations: Record<string, string> = {}): MachineSet => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineSet',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    annotations,
  },
  spec: { replicas: 1, selector: {}, template: { spec: { class: { kind: 'MachineClass', name: 'small' } } } },
});

/** Returns the journal of a controller with one decision about a MachineSet for each given number of machines. */
export function journalText(
  controller: string,
  decisions: readonly { readonly set: MachineSet; readonly machines: number; readonly because?: string }[],
): string {
  const journal = new Journal({ perObject: 10, total: 100 });
  decisions.forEach(({ set, machines, because = `${machines} machines` }, second) => {
    const { name, namespace = '', uid } = set.metadata;
    const at = new Date(Date.UTC(2026, 0, 1, 0, 0, second));
    const input = { set, machines, safetyUp: 2, safetyDown: 1 };
    const decision = repeatDecision('overshoot', input, at);
    const subject = { kind: 'MachineSet', namespace, name, uid };
    const actions = machines >= 4 ? ['freeze'] : [];
    journal.record({ kind: 'overshoot', subject, at, input, decision, because, actions }).ended();
  });
  const header = { version: '1.2.3', controller, at: new Date(0) };
  return [...journalLines(header, journal.entries(), (text) => text)].join('\n');
}
