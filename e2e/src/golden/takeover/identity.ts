import type { Machine } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import type { Uids } from './load.ts';
import type { Recorded, State } from './recording.ts';
import { machinesOf } from './rest.ts';

const PRIORITY = 'machinepriority.machine.sapcloud.io';

interface Now {
  readonly machines: readonly Machine[];
  readonly objects: readonly KubeObject[];
  readonly vms: ReadonlySet<string>;
  readonly uids: Uids;
}

/** Machines of a state that the original kept: there at its end, and not leaving. */
const keptBy = (state: State, end: State): readonly Recorded[] =>
  machinesOf(state).filter(({ metadata: { name, uid } }) => {
    const last = end.objects.get(`Machine/${name}`)?.metadata;
    return last?.uid === uid && last.deletionTimestamp === undefined;
  });

/** What a machine's place in the order of deletion hangs on: among equals the choice is free. */
const rankOf = (machine: Recorded): string => {
  const { ownerReferences, annotations, creationTimestamp, labels } = machine.metadata;
  const { currentStatus } = (machine.status ?? {}) as {
    currentStatus?: { phase?: string; preserveExpiryTime?: string };
  };
  return JSON.stringify([
    ownerReferences?.[0]?.uid,
    annotations?.[PRIORITY] ?? '3',
    currentStatus?.phase ?? '',
    currentStatus?.preserveExpiryTime !== undefined,
    creationTimestamp,
    labels?.['node.machine.sapcloud.io/update-result'],
  ]);
};

/**
 * Machines that the original kept and ours did not: the very objects, with their VM and their node. Where the original
 * chose after this state among machines that its order of deletion holds equal, ours may have kept the one for the other.
 */
export function lost(state: State, end: State, { machines, objects, vms, uids }: Now): readonly string[] {
  const here = new Map(machines.map((machine) => [machine.metadata.uid, machine]));
  const isHere = (recorded: Recorded): boolean => {
    const machine = here.get(uids.get(recorded.metadata.uid) ?? '');
    return machine !== undefined && machine.metadata.deletionTimestamp === undefined;
  };
  const kept = keptBy(state, end);
  const spare = machinesOf(state).filter(
    (machine) => !kept.includes(machine) && machine.metadata.deletionTimestamp === undefined && isHere(machine),
  );
  const problems: string[] = [];
  for (const machine of kept) {
    const { name } = machine.metadata;
    if (isHere(machine)) {
      problems.push(...changedUnder(machine, objects, vms, here.get(uids.get(machine.metadata.uid) ?? '')));
      continue;
    }
    const equal = spare.findIndex((other) => rankOf(other) === rankOf(machine));
    if (equal < 0) problems.push(`Machine ${name} is gone, the original kept it`);
    else spare.splice(equal, 1);
  }
  return problems;
}

/** A machine that is still there, on another VM or with another node than before. */
function changedUnder(
  recorded: Recorded,
  objects: readonly KubeObject[],
  vms: ReadonlySet<string>,
  now: Machine | undefined,
): readonly string[] {
  const { name } = recorded.metadata;
  const { providerID } = (recorded.spec ?? {}) as { providerID?: string };
  const problems: string[] = [];
  if (providerID && now?.spec?.providerID !== providerID)
    problems.push(`Machine ${name} has the providerID ${now?.spec?.providerID}, not ${providerID}`);
  if (providerID && !vms.has(name)) problems.push(`the VM of machine ${name} is gone, the original kept it`);
  const node = recorded.metadata.labels?.node;
  if (node && providerID && recordedNodeIsGone(node, objects, now))
    problems.push(`Node ${node} of machine ${name} is gone`);
  return problems;
}

const recordedNodeIsGone = (node: string, objects: readonly KubeObject[], now: Machine | undefined): boolean =>
  now?.status?.currentStatus?.phase === 'Running' &&
  !objects.some(({ kind, metadata }) => kind === 'Node' && metadata.name === node);
