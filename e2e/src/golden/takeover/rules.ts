/** A difference that is meant, with its row in `docs/compatibility.md`. */
export interface Rule {
  /** First cell of its row. */
  readonly row: string;
  readonly kinds: readonly string[];
  /** The value at a path without the difference; undefined leaves the path out. Applied to both sides. */
  adapt(path: string, value: string): string | undefined;
}

const MACHINES = ['Machine', 'MachineSet', 'MachineDeployment'];

/** All of them: rules, not cases. */
export const RULES: readonly Rule[] = [
  {
    row: 'First `Terminating` status',
    kinds: MACHINES,
    adapt: (path, value) =>
      path.endsWith('.description')
        ? value.replace(/^.*(?=Set machine status to termination)|^Waiting: .*\. (?=[A-Z])/, '')
        : value,
  },
  {
    row: 'Finalizer of a Node',
    kinds: ['Node'],
    adapt: (path, value) => (path.startsWith('.metadata.finalizers') ? undefined : value),
  },
  {
    row: 'Finalizer and priority of a Machine',
    kinds: ['Machine'],
    adapt: (path, value) =>
      path.endsWith('.machinepriority.machine.sapcloud.io') && value === '3' ? undefined : value,
  },
  {
    row: 'Annotation `revision-history`',
    kinds: ['MachineSet'],
    adapt: (path, value) => (path.endsWith('deployment.kubernetes.io/revision-history') ? undefined : value),
  },
];
