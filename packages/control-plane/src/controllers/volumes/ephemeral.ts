import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';
import { CLAIMS, PODS } from '../client/resources.ts';
import { controllerOf, isDying, namespaceOf, ownerReference } from '../objects/fields.ts';
import { keyOf } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { claimWords } from './binder/claims.ts';

const ephemeralOf = (pod: ApiObject) =>
  items(look(pod, 'spec'), 'volumes').filter((volume) => volume.ephemeral !== undefined);

function setup({ api, informer, queue, recorder }: ControllerContext): void {
  const pods = informer(PODS);
  const claims = informer(CLAIMS);
  const tell = recorder('ephemeral_volume');
  const podsUsing = pods.index(claimWords);

  const ensure = async (pod: ApiObject, volume: Record<string, unknown>): Promise<void> => {
    const namespace = namespaceOf(pod);
    const name = `${pod.metadata.name}-${text(volume, 'name')}`;
    const known = claims.get(`${namespace}/${name}`);
    if (known !== undefined) {
      if (controllerOf(known)?.uid === pod.metadata.uid) return;
      throw new Error(
        `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
      );
    }
    const { metadata, spec } = look(volume, 'ephemeral', 'volumeClaimTemplate');
    const { labels, annotations } = look({ metadata }, 'metadata');
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, labels, annotations, ownerReferences: [ownerReference(pod)] },
      spec,
    };
    try {
      await api.create(CLAIMS, claim, { namespace });
    } catch (error) {
      throw new Error(`create PVC ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  const work = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined || isDying(pod)) return;
    for (const volume of ephemeralOf(pod)) {
      try {
        await ensure(pod, volume);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        tell(pod, 'Warning', 'FailedBinding', `ephemeral volume ${text(volume, 'name')}: ${why}`);
        throw error;
      }
    }
  });

  pods.onChange(({ type, object }) => {
    if (type === 'added' && !isDying(object) && ephemeralOf(object).length > 0) work.add(keyOf(object));
  });
  claims.onChange(({ type, object }) => {
    if (type !== 'deleted') return;
    for (const pod of podsUsing(keyOf(object))) if (ephemeralOf(pod).length > 0) work.add(keyOf(pod));
  });
}

/**
 * Creates the claims of ephemeral volumes.
 * @see kubernetes pkg/controller/volume/ephemeral
 */
export const ephemeralVolumes: Controller = { name: 'ephemeral-volume', setup };
