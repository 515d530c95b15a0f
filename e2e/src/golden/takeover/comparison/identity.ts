import type { Machine } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import type { Recorded, State } from '../recordings/recording.ts';
import { machinesOf } from '../stage/idle.ts';
import type { Uids } from '../stage/load.ts';

const PRIORITY = 'machinepriority.machine.sapcloud.io';
const PRESERVE = 'node.machine.sapcloud.io/preserve';
const MARKED = 'machine.sapcloud.io/marked-for-deletion-time';

interface Now {
  readonly machines: readonly Machine[];
  readonly objects: readonly KubeObject[];
  readonly vms: ReadonlySet<string>;
  readonly uids: Uids;
}

/** Returns the machines in a state that still exist at the end and are not in deletion. */
const keptBy = (state: State, end: State): readonly Recorded[] =>
  machinesOf(state).filter(({ metadata: { name, uid } }) => {
    const last = end.objects.get(`Machine/${name}`)?.metadata;
    return last?.uid === uid && last.deletionTimestamp === undefined;
  });

/** The last state before the original decided to delete a machine, and the first state after this decision. */
interface DeletionDecision {
  readonly before: State;
  readonly shown: State;
}

function decisionFor({ metadata: { name, uid } }: Recorded, states: readonly State[]): DeletionDecision | undefined {
  const index = states.findIndex(({ objects }) => {
    const now = objects.get(`Machine/${name}`)?.metadata;
    return now?.uid !== uid || now.deletionTimestamp !== undefined;
  });
  const [before, shown] = [states[index - 1], states[index]];
  return before && shown && { before, shown };
}

const versionIn = ({ objects }: State, { metadata: { name, uid } }: Recorded): Recorded | undefined => {
  const found = objects.get(`Machine/${name}`);
  return found?.metadata.uid === uid ? found : undefined;
};

/** Returns the values that determined the position of a machine in the deletion order of the original. */
function rankOf(machine: Recorded, { before, shown }: DeletionDecision): string {
  const earlier = versionIn(before, machine) ?? machine;
  const { ownerReferences, annotations, creationTimestamp, labels } = (versionIn(shown, machine) ?? earlier).metadata;
  const { currentStatus } = (earlier.status ?? {}) as {
    currentStatus?: { phase?: string; preserveExpiryTime?: string };
  };
  return JSON.stringify([
    ownerReferences?.[0]?.uid,
    annotations?.[PRIORITY] ?? '3',
    annotations?.[MARKED] ?? '',
    annotations?.[PRESERVE] ?? '',
    currentStatus?.phase ?? '',
    currentStatus?.preserveExpiryTime ?? '',
    creationTimestamp,
    labels?.['node.machine.sapcloud.io/update-result'],
  ]);
}

/**
 * Returns sentences about the machines, VMs and nodes that mcm deleted although the original kept them.
 *
 * @param states all states from the loaded state on
 */
export function lost(states: readonly State[], { machines, objects, vms, uids }: Now): readonly string[] {
  const [state, end] = [states[0], states.at(-1)];
  if (!state || !end) return [];
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
    const equal = spare.findIndex((other) => {
      const farewell = decisionFor(other, states);
      return farewell !== undefined && rankOf(other, farewell) === rankOf(machine, farewell);
    });
    if (equal < 0) problems.push(`Machine ${name} no longer exists, but the original kept it`);
    else spare.splice(equal, 1);
  }
  return problems;
}

/** Returns the problems of a machine that mcm kept, but whose VM or node has changed. */
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
  if (providerID && !vms.has(name))
    problems.push(`the VM of machine ${name} no longer exists, but the original kept it`);
  const node = recorded.metadata.labels?.node;
  if (node && providerID && recordedNodeIsGone(node, objects, now))
    problems.push(`Node ${node} of machine ${name} no longer exists`);
  return problems;
}

const recordedNodeIsGone = (node: string, objects: readonly KubeObject[], now: Machine | undefined): boolean =>
  now?.status?.currentStatus?.phase === 'Running' &&
  !objects.some(({ kind, metadata }) => kind === 'Node' && metadata.name === node);
