import type { Machine } from '@mcm/api';
import { isReady } from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import type { FoundInstance } from '../../driver/contract/driver.ts';
import { MachineError } from '../../driver/contract/errors.ts';
import type { KeptVms } from '../../evidence/kept-vms.ts';
import { InstanceSet, instanceKey, isInstance } from '../../node/instance.ts';
import type { CallResult } from './calls.ts';

export interface AdoptionOptions {
  readonly caches: Caches;
  readonly keptVms: Pick<KeptVms, 'list'>;
}

/**
 * Looks up the VM of a machine whose provider ID is not recorded. Another controller may have created the VM, and
 * stopped before it recorded the VM.
 * @throws MachineError `NotFound`: no VM exists; `Aborted`: a VM exists but is being deleted; or the error of the
 * driver
 */
export async function findUnrecorded(
  machine: Machine,
  look: () => Promise<FoundInstance>,
  options: AdoptionOptions,
): Promise<CallResult> {
  const { found, complete } = await look().then(
    (one) => ({ found: [one], complete: true }),
    (thrown: unknown) => {
      const error = MachineError.from(thrown);
      const several = error.code === 'OutOfRange' || error.code === 'Uninitialized';
      if (!several || error.found.length === 0) throw error;
      return { found: error.found, complete: false };
    },
  );
  const free = machine.metadata.deletionTimestamp ? found : await adoptable(machine, found, options);
  const lives = free.filter(({ ending }) => ending === undefined || machine.metadata.deletionTimestamp);
  const best = preferred(lives, options.caches);
  if (best) {
    const { ending: _, createdAt: __, ...instance } = best;
    return { ok: true, instance, incomplete: complete ? undefined : true };
  }
  const [other] = free.length > 0 ? free : found;
  const id = other?.providerId ?? '';
  if (free.length > 0)
    throw new MachineError('Aborted', `VM ${id}, which has the name of the machine, is ${other?.ending}`);
  throw new MachineError(
    'NotFound',
    `VM ${id} has the name of the machine, but belongs to another machine or is kept for an investigation`,
  );
}

async function adoptable(
  { metadata: { uid }, spec }: Machine,
  found: readonly FoundInstance[],
  { caches, keptVms }: AdoptionOptions,
): Promise<readonly FoundInstance[]> {
  const kept = new InstanceSet((await keptVms.list(spec.class.name ?? '')).map(({ providerID }) => providerID));
  return found.filter(
    ({ providerId }) =>
      !kept.has(providerId) &&
      !caches.machines.store
        .byIndex('instance', instanceKey(providerId))
        .some((other) => other.metadata.uid !== uid && isInstance(other.spec.providerID, providerId)),
  );
}

function preferred(found: readonly FoundInstance[], { target }: Caches): FoundInstance | undefined {
  const joined = ({ providerId }: FoundInstance): boolean =>
    target?.nodes.store
      .byIndex('instance', instanceKey(providerId))
      .some((node) => isReady(node) && isInstance(node.spec.providerID, providerId)) ?? false;
  const ranked = found.toSorted((a, b) => {
    const [left, right] = [a, b].map(({ createdAt = '', providerId }) => `${createdAt} ${providerId}`);
    return (left ?? '') < (right ?? '') ? -1 : 1;
  });
  return ranked.find(joined) ?? ranked[0];
}
