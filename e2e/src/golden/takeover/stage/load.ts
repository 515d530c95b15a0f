import type { OwnerReference } from '@mcm/kube';
import { placeOf } from '../recordings/kinds.ts';
import type { Recorded, State } from '../recordings/recording.ts';
import { millis, type Stage } from './stage.ts';

const SERVER_SET = ['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'];
const STATELESS = new Set(['Secret', 'MachineClass']);
/** Matches the texts of the deletion steps that follow the deletion of the VM. */
const VM_GONE = /VM deletion was successful|[Nn]ode object deletion|finalizer removal/;

export type Uids = Map<string, string>;

const ownersHere = (owners: readonly OwnerReference[], uids: Uids): OwnerReference[] =>
  owners.map((owner) => ({ ...owner, uid: uids.get(owner.uid) ?? owner.uid }));

export async function put(stage: Stage, object: Recorded, uids: Uids, withStatus: boolean): Promise<void> {
  const { namespace } = object.metadata;
  if (namespace) await stage.needNamespace(namespace);
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([key]) => !SERVER_SET.includes(key)));
  const owners = object.metadata.ownerReferences;
  const ownerReferences = owners ? { ownerReferences: ownersHere(owners, uids) } : {};
  const resource = stage.resource(object.kind, namespace);
  const made = await resource.create({ ...object, metadata: { ...metadata, ...ownerReferences } } as Recorded);
  uids.set(object.metadata.uid, made.metadata.uid);
  if (!withStatus || object.status === undefined || STATELESS.has(object.kind)) return;
  const body = { status: object.status };
  await resource.patch(made.metadata.name, { type: 'merge', body }, { subresource: 'status' });
}

/** Creates all objects of a recorded state with their recorded times. */
export async function load(stage: Stage, { objects, at }: State): Promise<Uids> {
  const uids: Uids = new Map();
  const inOrder = [...objects.values()].sort(
    (one, other) =>
      millis(one.metadata.creationTimestamp) - millis(other.metadata.creationTimestamp) ||
      placeOf(one.kind) - placeOf(other.kind),
  );
  for (const object of inOrder) {
    await stage.until(millis(object.metadata.creationTimestamp));
    await put(stage, object, uids, true);
    if (object.kind === 'Machine' && hasVm(object, objects)) stage.cloud.vms.add(object.metadata.name);
  }
  await settleOwners(stage, inOrder, uids);
  const leaving = inOrder.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  leaving.sort((one, other) => millis(one.metadata.deletionTimestamp) - millis(other.metadata.deletionTimestamp));
  for (const { kind, metadata } of leaving) {
    await stage.until(millis(metadata.deletionTimestamp));
    await stage.resource(kind, metadata.namespace).delete(metadata.name, { propagationPolicy: 'Background' });
  }
  await stage.reach(at);
  return uids;
}

/** Adds the owner references that are missing. */
async function settleOwners(stage: Stage, objects: readonly Recorded[], uids: Uids): Promise<void> {
  for (const { kind, metadata } of objects) {
    const owners = metadata.ownerReferences ?? [];
    const late = owners.some(({ uid }) => {
      const owner = objects.find((other) => other.metadata.uid === uid);
      return owner && millis(owner.metadata.creationTimestamp) >= millis(metadata.creationTimestamp);
    });
    if (!late) continue;
    const body = { metadata: { ownerReferences: ownersHere(owners, uids) } };
    await stage.resource(kind, metadata.namespace).patch(metadata.name, { type: 'merge', body });
  }
}

function hasVm(machine: Recorded, objects: State['objects']): boolean {
  const { spec, status } = machine as {
    spec?: { providerID?: string };
    status?: { lastOperation?: { description?: string } };
  };
  const made = spec?.providerID !== undefined || objects.has(`Node/${machine.metadata.name}`);
  return made && !VM_GONE.test(status?.lastOperation?.description ?? '');
}
