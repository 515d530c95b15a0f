import type { Recorded, State } from './recording.ts';

const OF_USERS = new Set(['MachineDeployment', 'MachineClass', 'Secret', 'PodDisruptionBudget']);

export const countOf = (event: Recorded): number => (typeof event.count === 'number' ? event.count : 1);
export const involvedOf = (event: Recorded): { readonly kind?: string; readonly name?: string } =>
  (event.involvedObject ?? {}) as { readonly kind?: string; readonly name?: string };

/** Returns the names of machines that a MachineSet deleted according to its events. */
export function removedBySets(states: readonly State[]): ReadonlySet<string> {
  const deletions = (states.at(-1)?.events ?? []).filter(({ reason }) => reason === 'SuccessfulDelete');
  const leaving = new Map<string, Set<string>>();
  const last = states.at(-1)?.objects;
  for (const object of states.flatMap(({ objects }) => [...objects.values()])) {
    const { kind, metadata } = object;
    const owner = metadata.ownerReferences?.[0];
    const isGone = last?.get(`Machine/${metadata.name}`)?.metadata.uid !== metadata.uid;
    if (kind !== 'Machine' || !(metadata.deletionTimestamp || isGone) || owner?.kind !== 'MachineSet') continue;
    leaving.set(owner.name, (leaving.get(owner.name) ?? new Set()).add(metadata.name));
  }
  const removed = new Set<string>();
  for (const [set, machines] of leaving) {
    const reported = deletions.filter((event) => involvedOf(event).name === set);
    const isAll = reported.reduce((sum, event) => sum + countOf(event), 0) >= machines.size;
    for (const name of machines)
      if (isAll || reported.some(({ message }) => String(message).includes(name))) removed.add(name);
  }
  return removed;
}

export function isByHand(
  object: Recorded,
  before: State | undefined,
  state: State,
  removed: ReadonlySet<string>,
): boolean {
  const { kind, metadata } = object;
  if (OF_USERS.has(kind)) return true;
  if (kind === 'Node') return isNodeByHand(object, before, state);
  const owner = metadata.ownerReferences?.[0];
  if (kind === 'MachineSet') return owner === undefined || isStaying(`MachineDeployment/${owner.name}`, state);
  if (kind !== 'Machine' || removed.has(metadata.name)) return false;
  if (!owner) return true;
  return isStaying(`MachineSet/${owner.name}`, state) && !hasLostNode(object, before, state);
}

const isStaying = (key: string, { objects }: State): boolean => {
  const object = objects.get(key);
  return object !== undefined && object.metadata.deletionTimestamp === undefined;
};

function isNodeByHand({ metadata: { name } }: Recorded, before: State | undefined, state: State): boolean {
  const machine = machineOf(name, before);
  const isThere =
    machine && state.objects.get(`Machine/${machine.metadata.name}`)?.metadata.uid === machine.metadata.uid;
  return isThere === true && machine?.metadata.deletionTimestamp === undefined;
}

function hasLostNode(machine: Recorded, before: State | undefined, state: State): boolean {
  const name = machine.metadata.labels?.node;
  if (!name || !before?.objects.has(`Node/${name}`)) return false;
  const node = state.objects.get(`Node/${name}`);
  return node === undefined || node.metadata.deletionTimestamp !== undefined;
}

const machineOf = (node: string, state: State | undefined): Recorded | undefined =>
  [...(state?.objects.values() ?? [])].find(
    ({ kind, metadata }) => kind === 'Machine' && metadata.labels?.node === node,
  );
