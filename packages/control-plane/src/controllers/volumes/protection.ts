import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../client/api.ts';
import { CLAIMS, PODS, type Resource, VOLUME_ATTRIBUTES_CLASSES, VOLUMES } from '../client/resources.ts';
import { isDying, isTerminal, namespaceOf, nodeNameOf, phaseOf } from '../objects/fields.ts';
import { keyOf, splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { claimNamesOf, claimWords } from './binder/claims.ts';

const CLAIM_FINALIZER = 'kubernetes.io/pvc-protection';
const VOLUME_FINALIZER = 'kubernetes.io/pv-protection';
const ATTRIBUTES_CLASS_FINALIZER = 'kubernetes.io/vac-protection';

function patchOf(object: ApiObject, finalizer: string, wanted: boolean): unknown {
  const { finalizers = [], resourceVersion } = object.metadata;
  if (finalizers.includes(finalizer) === wanted) return undefined;
  const changed = wanted ? [...finalizers, finalizer] : finalizers.filter((one) => one !== finalizer);
  return { metadata: { resourceVersion, finalizers: changed.length === 0 ? null : changed } };
}

type Protect = (resource: Resource, object: ApiObject, finalizer: string, wanted: boolean) => Promise<void>;

const protector =
  (api: Api): Protect =>
  async (resource, object, finalizer, wanted) => {
    const patch = patchOf(object, finalizer, wanted);
    if (patch !== undefined) await allowing(api.patch(resource, splitKey(keyOf(object)), patch), 404, 409);
  };

const isShutDown = (pod: ApiObject): boolean => isDying(pod) && pod.metadata.deletionGracePeriodSeconds === 0;

/**
 * Returns whether a pod may use a claim. A pod without a node has no mounted volumes. A pod uses a claim until the pod
 * is deleted. An ephemeral claim is in use only until the pod ends.
 */
function mayUse(pod: ApiObject, claim: string): boolean {
  if (nodeNameOf(pod) === '') return false;
  const named = items(look(pod, 'spec'), 'volumes').some(
    (volume) => text(look(volume, 'persistentVolumeClaim'), 'claimName') === claim,
  );
  return named || !isShutDown(pod);
}

function setup({ api, informer, queue }: ControllerContext): void {
  const claims = informer(CLAIMS);
  const volumes = informer(VOLUMES);
  const pods = informer(PODS);
  const podsUsing = pods.index(claimWords);

  const protect = protector(api);
  const claimWork = queue(async (key) => {
    const claim = claims.get(key);
    if (claim === undefined) return;
    if (!isDying(claim)) return protect(CLAIMS, claim, CLAIM_FINALIZER, true);
    if (!podsUsing(key).some((pod) => mayUse(pod, claim.metadata.name ?? '')))
      await protect(CLAIMS, claim, CLAIM_FINALIZER, false);
  });
  const volumeWork = queue(async (key) => {
    const volume = volumes.get(key);
    if (volume === undefined) return;
    if (!isDying(volume)) return protect(VOLUMES, volume, VOLUME_FINALIZER, true);
    if (phaseOf(volume) !== 'Bound') await protect(VOLUMES, volume, VOLUME_FINALIZER, false);
  });

  claims.onChange(({ type, object }) => {
    if (isDying(object) || patchOf(object, CLAIM_FINALIZER, true) !== undefined) claimWork.add(keyOf(object));
    const name = text(look(object, 'spec'), 'volumeName');
    if (type === 'deleted' && name !== '') volumeWork.add(name);
  });
  volumes.onChange(({ object }) => {
    if (isDying(object) || patchOf(object, VOLUME_FINALIZER, true) !== undefined) volumeWork.add(keyOf(object));
  });
  pods.onChange(({ type, object }) => {
    if (type !== 'deleted' && !isTerminal(object) && !isShutDown(object)) return;
    for (const name of claimNamesOf(object)) claimWork.add(`${namespaceOf(object)}/${name}`);
  });
}

/** @see kubernetes pkg/controller/volume/pvcprotection */
export const storageProtection: Controller = { name: 'pvc-protection', setup };

/** Returns the VolumeAttributesClasses of a claim: the current, the next, and the requested class. */
function classesOfClaim(claim: ApiObject): string[] {
  const [spec, status] = [look(claim, 'spec'), look(claim, 'status')];
  const names = [
    text(spec, 'volumeAttributesClassName'),
    text(status, 'currentVolumeAttributesClassName'),
    text(look(status, 'modifyVolumeStatus'), 'targetVolumeAttributesClassName'),
  ];
  return names.filter((name) => name !== '');
}

const classesOfVolume = (volume: ApiObject): string[] =>
  [text(look(volume, 'spec'), 'volumeAttributesClassName')].filter((name) => name !== '');

function setupClasses({ api, informer, queue }: ControllerContext): void {
  const classes = informer(VOLUME_ATTRIBUTES_CLASSES);
  const users = [
    { objects: informer(CLAIMS), classesOf: classesOfClaim },
    { objects: informer(VOLUMES), classesOf: classesOfVolume },
  ];
  const usersOf = users.map(({ objects, classesOf }) => objects.index(classesOf));
  const protect = protector(api);
  const work = queue(async (name) => {
    const found = classes.get(name);
    if (found === undefined) return;
    const isNeeded = !isDying(found) || usersOf.some((lookup) => lookup(name).length > 0);
    await protect(VOLUME_ATTRIBUTES_CLASSES, found, ATTRIBUTES_CLASS_FINALIZER, isNeeded);
  });
  classes.onChange(({ object }) => {
    if (isDying(object) || patchOf(object, ATTRIBUTES_CLASS_FINALIZER, true) !== undefined) work.add(keyOf(object));
  });
  for (const { objects, classesOf } of users) {
    objects.onChange(({ type, object, old }) => {
      const left = type === 'deleted' ? classesOf(object) : old === undefined ? [] : classesOf(old);
      const kept = type === 'deleted' ? [] : classesOf(object);
      for (const name of left) if (!kept.includes(name)) work.add(name);
    });
  }
}

/**
 * @see kubernetes pkg/controller/volume/vacprotection
 */
export const classProtection: Controller = { name: 'volumeattributesclass-protection', setup: setupClasses };
