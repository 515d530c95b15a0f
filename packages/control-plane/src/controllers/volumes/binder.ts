import { look, type Plain, strings, text } from '../../kinds/plain.ts';
import { quantityNanos } from '../../kinds/quantity.ts';
import type { ApiObject } from '../../object.ts';
import { selectorOf } from '../../registry/label-selector.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { isDying, namespaceOf, phaseOf } from '../runtime/objects.ts';
import { CLAIMS, STORAGE_CLASSES, VOLUMES } from '../runtime/resources.ts';
import { SELECTED_NODE } from '../scheduler/volumes.ts';

/** The provisioner whose volumes are folders of the node: the only one that runs inside the controllers. */
const HOST_PATH = 'kubernetes.io/host-path';
const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

const claimRefOf = (volume: ApiObject): Plain => look(volume, 'spec', 'claimRef');

/** Whether a volume is promised to this claim and no other. */
const isFor = (volume: ApiObject, claim: ApiObject): boolean => {
  const reference = claimRefOf(volume);
  if (text(reference, 'name') !== claim.metadata.name || text(reference, 'namespace') !== namespaceOf(claim))
    return false;
  const uid = text(reference, 'uid');
  return uid === '' || uid === claim.metadata.uid;
};

const storageOf = (amounts: unknown): bigint => quantityNanos(look({ amounts }, 'amounts').storage);

/** Whether a volume has what a claim asks for. */
export function satisfies(volume: ApiObject, claim: ApiObject): boolean {
  const offered = look(volume, 'spec');
  const asked = look(claim, 'spec');
  if (isDying(volume)) return false;
  if (text(offered, 'storageClassName') !== text(asked, 'storageClassName')) return false;
  if ((offered.volumeMode ?? 'Filesystem') !== (asked.volumeMode ?? 'Filesystem')) return false;
  const modes = strings(offered, 'accessModes');
  if (!strings(asked, 'accessModes').every((mode) => modes.includes(mode))) return false;
  if (storageOf(offered.capacity) < storageOf(look(asked, 'resources').requests)) return false;
  const { selector } = asked;
  return (
    selector === undefined || selectorOf(selector as Parameters<typeof selectorOf>[0])(volume.metadata.labels ?? {})
  );
}

/** The volume for a claim: the one promised to it, else the smallest free one that will do. */
export function findVolume(claim: ApiObject, volumes: Iterable<ApiObject>): ApiObject | undefined {
  const named = text(look(claim, 'spec'), 'volumeName');
  let best: ApiObject | undefined;
  for (const volume of volumes) {
    if (named !== '' && volume.metadata.name !== named) continue;
    if (isFor(volume, claim)) return volume;
    if (text(claimRefOf(volume), 'name') !== '' || (named === '' && !satisfies(volume, claim))) continue;
    const smaller =
      best === undefined || storageOf(look(volume, 'spec').capacity) < storageOf(look(best, 'spec').capacity);
    if (smaller) best = volume;
  }
  return best;
}

function hostPathVolume(claim: ApiObject, storageClass: ApiObject): Plain {
  const spec = look(claim, 'spec');
  const name = `pvc-${claim.metadata.uid}`;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, annotations: { [PROVISIONED_BY]: HOST_PATH } },
    spec: {
      capacity: { storage: look(spec, 'resources', 'requests').storage },
      accessModes: strings(spec, 'accessModes'),
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      volumeMode: spec.volumeMode,
      claimRef: referenceTo(claim),
      hostPath: { path: `/tmp/hostpath_pv/${name}` },
    },
  };
}

const referenceTo = (claim: ApiObject): Plain => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  namespace: namespaceOf(claim),
  name: claim.metadata.name,
  uid: claim.metadata.uid,
});

function setup({ api, informer, queue }: ControllerContext): void {
  const claims = informer(CLAIMS);
  const volumes = informer(VOLUMES);
  const classes = informer(STORAGE_CLASSES);

  const setPhase = async (volume: ApiObject, phase: string): Promise<void> => {
    if (phaseOf(volume) === phase) return;
    const { name, resourceVersion } = volume.metadata;
    await allowing(
      api.patch(VOLUMES, { name, subresource: 'status' }, { metadata: { resourceVersion }, status: { phase } }),
      404,
      409,
    );
  };

  const bind = async (key: string, claim: ApiObject, volume: ApiObject): Promise<void> => {
    const { name, resourceVersion } = volume.metadata;
    if (text(claimRefOf(volume), 'uid') !== claim.metadata.uid) {
      const annotations = { [BOUND_BY_CONTROLLER]: 'yes' };
      // A conflict: another claim took it. The volume's event brings this one back.
      const taken = await allowing(
        api.patch(
          VOLUMES,
          { name },
          { metadata: { resourceVersion, annotations }, spec: { claimRef: referenceTo(claim) } },
        ),
        404,
        409,
      );
      if (taken === undefined) return;
    }
    const place = splitKey(key);
    if (text(look(claim, 'spec'), 'volumeName') === '') {
      const annotations = { [BIND_COMPLETED]: 'yes', [BOUND_BY_CONTROLLER]: 'yes' };
      await allowing(api.patch(CLAIMS, place, { metadata: { annotations }, spec: { volumeName: name } }), 404, 409);
    }
    const { accessModes, capacity } = look(volume, 'spec');
    const status = { phase: 'Bound', accessModes, capacity };
    await allowing(api.patch(CLAIMS, { ...place, subresource: 'status' }, { status }), 404, 409);
  };

  const provision = async (claim: ApiObject): Promise<void> => {
    const storageClass = classes.get(text(look(claim, 'spec'), 'storageClassName'));
    if (storageClass === undefined || storageClass.provisioner !== HOST_PATH) return;
    await allowing(api.create(VOLUMES, hostPathVolume(claim, storageClass)), 409);
  };

  /** Whether the claim still waits for its first pod to be placed. */
  const waitsForPod = (claim: ApiObject): boolean => {
    const storageClass = classes.get(text(look(claim, 'spec'), 'storageClassName'));
    return (
      storageClass?.volumeBindingMode === 'WaitForFirstConsumer' &&
      claim.metadata.annotations?.[SELECTED_NODE] === undefined
    );
  };

  const claimWork = queue(async (key) => {
    const claim = claims.get(key);
    if (claim === undefined || isDying(claim)) return;
    const { volumeName } = look(claim, 'spec');
    if (phaseOf(claim) === 'Bound') {
      if (typeof volumeName === 'string' && volumes.get(volumeName) === undefined) {
        await allowing(
          api.patch(CLAIMS, { ...splitKey(key), subresource: 'status' }, { status: { phase: 'Lost' } }),
          404,
          409,
        );
      }
      return;
    }
    if (waitsForPod(claim) && volumeName === undefined) return;
    const volume = findVolume(claim, volumes.all());
    if (volume !== undefined) return bind(key, claim, volume);
    await provision(claim);
  });

  const volumeWork = queue(async (name) => {
    const volume = volumes.get(name);
    if (volume === undefined || isDying(volume)) return;
    const reference = claimRefOf(volume);
    if (text(reference, 'name') === '') return setPhase(volume, 'Available');
    const claim = claims.get(`${text(reference, 'namespace')}/${text(reference, 'name')}`);
    const uid = text(reference, 'uid');
    if (uid === '') return setPhase(volume, 'Available');
    if (claim !== undefined && claim.metadata.uid === uid) {
      if (phaseOf(claim) === 'Bound' || text(look(claim, 'spec'), 'volumeName') === name)
        await setPhase(volume, 'Bound');
      return;
    }
    await setPhase(volume, 'Released');
    const own = volume.metadata.annotations?.[PROVISIONED_BY] === HOST_PATH;
    if (own && look(volume, 'spec').persistentVolumeReclaimPolicy === 'Delete') {
      await allowing(api.delete(VOLUMES, { name }), 404);
    }
  });

  const pending = (): void => {
    for (const claim of claims.all()) if (phaseOf(claim) !== 'Bound') claimWork.add(keyOf(claim));
  };
  claims.onChange(({ object }) => {
    claimWork.add(keyOf(object));
    const name = text(look(object, 'spec'), 'volumeName');
    if (name !== '') volumeWork.add(name);
  });
  volumes.onChange(({ type, object }) => {
    volumeWork.add(object.metadata.name ?? '');
    const reference = claimRefOf(object);
    if (text(reference, 'name') !== '') claimWork.add(`${text(reference, 'namespace')}/${text(reference, 'name')}`);
    else if (type !== 'deleted') pending();
  });
  classes.onChange(pending);
}

/**
 * Binds claims to volumes, and makes volumes for classes of the provisioner `kubernetes.io/host-path`.
 * @see kubernetes pkg/controller/volume/persistentvolume
 */
export const volumeBinder: Controller = { name: 'persistentvolume-binder', setup };
