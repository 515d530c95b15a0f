import { look, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { allowing, type Resource } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { isDying, isTerminal, namespaceOf, nodeNameOf, phaseOf } from '../runtime/objects.ts';
import { CLAIMS, PODS, VOLUMES } from '../runtime/resources.ts';
import { claimNamesOf } from '../scheduler/volumes.ts';

const CLAIM_FINALIZER = 'kubernetes.io/pvc-protection';
const VOLUME_FINALIZER = 'kubernetes.io/pv-protection';

/** The metadata without a finalizer, as a patch; undefined when it does not have it. */
function without(object: ApiObject, finalizer: string): unknown {
  const { finalizers = [], resourceVersion } = object.metadata;
  if (!finalizers.includes(finalizer)) return undefined;
  const kept = finalizers.filter((one) => one !== finalizer);
  return { metadata: { resourceVersion, finalizers: kept.length === 0 ? null : kept } };
}

function setup({ api, informer, queue }: ControllerContext): void {
  const claims = informer(CLAIMS);
  const volumes = informer(VOLUMES);
  const pods = informer(PODS);
  const podsUsing = pods.index((pod) => claimNamesOf(pod).map((name) => `${namespaceOf(pod)}/${name}`));

  const release = async (resource: Resource, key: string, object: ApiObject, finalizer: string): Promise<void> => {
    const patch = without(object, finalizer);
    if (patch !== undefined) await allowing(api.patch(resource, splitKey(key), patch), 404, 409);
  };

  const claimWork = queue(async (key) => {
    const claim = claims.get(key);
    if (claim === undefined || !isDying(claim)) return;
    // A pod without a node mounts nothing yet.
    const used = podsUsing(key).some((pod) => nodeNameOf(pod) !== '' && !isTerminal(pod));
    if (!used) await release(CLAIMS, key, claim, CLAIM_FINALIZER);
  });
  const volumeWork = queue(async (key) => {
    const volume = volumes.get(key);
    if (volume === undefined || !isDying(volume) || phaseOf(volume) === 'Bound') return;
    await release(VOLUMES, key, volume, VOLUME_FINALIZER);
  });

  claims.onChange(({ type, object }) => {
    if (isDying(object)) claimWork.add(keyOf(object));
    const name = text(look(object, 'spec'), 'volumeName');
    if (type === 'deleted' && name !== '') volumeWork.add(name);
  });
  volumes.onChange(({ object }) => {
    if (isDying(object)) volumeWork.add(keyOf(object));
  });
  pods.onChange(({ type, object }) => {
    if (type !== 'deleted' && !isTerminal(object)) return;
    for (const name of claimNamesOf(object)) claimWork.add(`${namespaceOf(object)}/${name}`);
  });
}

/** Lets claims and volumes go when nothing uses them any more. @see kubernetes pkg/controller/volume/pvcprotection */
export const storageProtection: Controller = { name: 'pvc-protection', setup };
