import type { Picture } from './picture.ts';

/** A difference that is meant, with its row in `docs/compatibility.md`. */
export interface Rule {
  /** First cell of its row. */
  readonly row: string;
  readonly kinds: readonly string[];
  /** The value at a path without the difference; undefined leaves the path out. Applied to both sides. */
  adapt(path: string, value: string, sides: Sides): string | undefined;
}

/** The object that a value belongs to, and the one that it is compared with. */
export interface Sides {
  readonly own: Picture;
  readonly other: Picture;
}

const SYNCED = '.metadata.annotations.node.machine.sapcloud.io/last-applied-anno-labels-taints';
/** What the controllers bring to a Node from its machine: labels, annotations, and the record of them. */
const FROM_MACHINE = /^\.metadata\.(labels|annotations)\.|^\.spec\.taints/;
/** Sizes of the whole deployment, written on sets that have machines. */
const SIZES = /^\.metadata\.annotations\.deployment\.kubernetes\.io\/(desired|max)-replicas$/;
const ROLLOUT_MARK = /^\.metadata\.annotations\.cluster-autoscaler\.kubernetes\.io\/scale-down-disabled(-by-mcm)?$/;
const isLeaving = (node: Picture): boolean => node.get('.status.conditions[Terminating].status') === 'True';

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
    row: 'Annotation `machine-class` of a Node',
    kinds: ['Node'],
    adapt: (path, value) => (path.endsWith('node.machine.sapcloud.io/machine-class') ? undefined : value),
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
  {
    // A node that left before the original had looked at it again, and one that ours had looked at as soon as it joined.
    row: 'Steps of a birth, a death, a drain',
    kinds: ['Node'],
    adapt: (path, value, { own, other }) =>
      FROM_MACHINE.test(path) && isLeaving(own) && isLeaving(other) && own.has(SYNCED) !== other.has(SYNCED)
        ? undefined
        : value,
  },
  {
    // Written while a set has machines: an old set that was emptied sooner keeps those of that time.
    row: 'Steps of a birth, a death, a drain',
    kinds: ['MachineSet'],
    adapt: (path, value, { own }) => (SIZES.test(path) && !own.has('.spec.replicas') ? undefined : value),
  },
];

/**
 * Where a recording ends amid a deletion, ours goes on: what follows from it is no difference. Sets, deployments and
 * classes say at the end that the machine is gone.
 */
export const CARRIED_ON: readonly Rule[] = [
  {
    row: 'Steps of a birth, a death, a drain',
    kinds: ['MachineSet', 'MachineDeployment'],
    adapt: (path, value) => (path.startsWith('.status') ? undefined : value),
  },
  {
    row: 'Steps of a birth, a death, a drain',
    kinds: ['MachineClass'],
    adapt: (path, value) => (path.startsWith('.metadata.finalizers') ? undefined : value),
  },
  {
    // Marks that nodes bear while a rollout lasts.
    row: 'Steps of a birth, a death, a drain',
    kinds: ['Node'],
    adapt: (path, value) => (ROLLOUT_MARK.test(path) ? undefined : value),
  },
];
