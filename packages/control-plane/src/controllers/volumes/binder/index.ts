import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, text } from '../../../apimachinery/objects/plain.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf } from '../../runtime/informer.ts';
import { isDying, isTerminal, namespaceOf, nodeNameOf, phaseOf } from '../../runtime/objects.ts';
import { CLAIMS, PODS, STORAGE_CLASSES, VOLUMES } from '../../runtime/resources.ts';
import { BIND_COMPLETED, BindingWriter, BOUND_BY_CONTROLLER, hasAnnotation } from './bind.ts';
import { claimNamesOf, SELECTED_NODE } from './claims.ts';
import { defaultClass } from './default-class.ts';
import {
  asksForClass,
  claimKeyOf,
  claimRefOf,
  classOfClaim,
  classOfVolume,
  differInMode,
  findVolume,
  hasClaimRef,
  isFor,
  mismatchOf,
} from './match.ts';
import { PROVISIONED_BY, provision } from './provision.ts';
import { finalizersOf, reclaim } from './reclaim.ts';

const COMPONENT = 'persistentvolume-controller';

const volumeNameOf = (claim: ApiObject): string => text(look(claim, 'spec'), 'volumeName');
const isUnbound = (claim: ApiObject): boolean => !hasAnnotation(claim, BIND_COMPLETED);

function setup({ api, informer, queue, recorder }: ControllerContext): void {
  const tell = recorder(COMPONENT);
  const claims = informer(CLAIMS);
  const volumes = informer(VOLUMES);
  const classes = informer(STORAGE_CLASSES);
  const pods = informer(PODS);
  const writer = new BindingWriter(api);
  const podsUsing = pods.index((pod) => claimNamesOf(pod).map((name) => `${namespaceOf(pod)}/${name}`));
  const promisedTo = volumes.index((volume) => {
    const key = claimKeyOf(volume);
    return key === undefined ? [] : [key];
  });
  const freeOf = volumes.index((volume) => (hasClaimRef(volume) ? [] : [classOfVolume(volume)]));
  const unboundOf = claims.index((claim) => (isUnbound(claim) ? [classOfClaim(claim)] : []));

  const naming = claims.index((claim) => [volumeNameOf(claim)]);

  const living = (key: string): ApiObject[] => podsUsing(key).filter((pod) => !isTerminal(pod));

  /** Whether the class leaves it to the scheduler when a volume is chosen. */
  const isDelayed = (claim: ApiObject): boolean =>
    classes.get(classOfClaim(claim))?.volumeBindingMode === 'WaitForFirstConsumer';

  const tellWaiting = (key: string, claim: ApiObject): void => {
    const names = living(key)
      .filter((pod) => nodeNameOf(pod) === '')
      .map((pod) => pod.metadata.name ?? '');
    if (names.length === 0) {
      const message = 'waiting for first consumer to be created before binding';
      tell(claim, 'Normal', 'WaitForFirstConsumer', message);
      return;
    }
    const who = names.length === 1 ? 'pod' : 'pods';
    tell(claim, 'Normal', 'WaitForPodScheduled', `waiting for ${who} ${names.join(',')} to be scheduled`);
  };

  /** A claim that takes any volume. */
  const syncFree = async (key: string, claim: ApiObject): Promise<void> => {
    const delayed = isDelayed(claim);
    const candidates = [...promisedTo(key), ...(delayed ? [] : freeOf(classOfClaim(claim)))];
    const volume = findVolume(claim, candidates, delayed);
    if (volume !== undefined) return writer.bind(volume, claim);
    const byDefault = asksForClass(claim) ? undefined : defaultClass(classes.all());
    if (byDefault !== undefined) {
      const { resourceVersion } = claim.metadata;
      const spec = { storageClassName: byDefault.metadata.name };
      await writer.patchClaim(claim, { metadata: { resourceVersion }, spec });
      return;
    }
    if (delayed && !hasAnnotation(claim, SELECTED_NODE)) tellWaiting(key, claim);
    else if (classOfClaim(claim) !== '') return provision({ api, writer, classes, tell }, claim);
    else {
      const message = 'no persistent volumes available for this claim and no storage class is set';
      tell(claim, 'Normal', 'FailedBinding', message);
    }
    await writer.setClaimStatus(claim, 'Pending');
  };

  /** A claim that names its volume. */
  const syncNaming = async (claim: ApiObject): Promise<void> => {
    const name = volumeNameOf(claim);
    const volume = volumes.get(name);
    if (volume !== undefined && hasClaimRef(volume)) {
      if (isFor(volume, claim)) return writer.bind(volume, claim);
      tell(claim, 'Warning', 'FailedBinding', `volume "${name}" already bound to a different claim.`);
      if (hasAnnotation(claim, BOUND_BY_CONTROLLER)) return;
    } else if (volume !== undefined) {
      const why = mismatchOf(volume, claim);
      if (why === undefined) return writer.bind(volume, claim);
      tell(claim, 'Warning', 'VolumeMismatch', `Cannot bind to requested volume "${name}": ${why}`);
    }
    await writer.setClaimStatus(claim, 'Pending');
  };

  const lose = async (claim: ApiObject, reason: string, message: string): Promise<void> => {
    if (phaseOf(claim) === 'Lost') return;
    if (await writer.setClaimStatus(claim, 'Lost')) tell(claim, 'Warning', reason, message);
  };

  const syncBound = async (claim: ApiObject): Promise<void> => {
    const name = volumeNameOf(claim);
    const volume = volumes.get(name);
    if (volume === undefined) {
      const what = name === '' ? 'reference to PersistentVolume' : 'its PersistentVolume';
      return lose(claim, 'ClaimLost', `Bound claim has lost ${what}. Data on the volume is lost!`);
    }
    if (!hasClaimRef(volume) || text(claimRefOf(volume), 'uid') === claim.metadata.uid) {
      return writer.bind(volume, claim);
    }
    const message = 'Two claims are bound to the same volume, this one is bound incorrectly';
    return lose(claim, 'ClaimMisbound', message);
  };

  const claimWork = queue(async (key) => {
    const claim = claims.get(key);
    if (claim === undefined) return;
    if (!isUnbound(claim)) return syncBound(claim);
    if (volumeNameOf(claim) !== '') return syncNaming(claim);
    return syncFree(key, claim);
  });

  const reclaiming = {
    api,
    writer,
    tell,
    users: (volume: ApiObject): string[] => {
      const key = claimKeyOf(volume);
      // A claim of that name is another one, and so are its pods.
      if (key === undefined || claims.get(key) !== undefined) return [];
      return living(key).map(keyOf);
    },
  };

  /** A volume whose claim is there but has no volume yet, or another one. */
  const syncHalfBound = async (volume: ApiObject, claim: ApiObject): Promise<void> => {
    if (volumeNameOf(claim) !== '') {
      const { persistentVolumeReclaimPolicy: policy } = look(volume, 'spec');
      if (hasAnnotation(volume, PROVISIONED_BY) && policy === 'Delete') return reclaim(reclaiming, volume);
      return writer.unbind(volume);
    }
    if (differInMode(volume, claim)) {
      const { name } = claim.metadata;
      const why = 'due to incompatible volumeMode.';
      const message = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${name}" ${why}`;
      tell(volume, 'Warning', 'VolumeMismatch', message);
      const about = `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim ${why}`;
      return tell(claim, 'Warning', 'VolumeMismatch', about);
    }
    claimWork.add(keyOf(claim));
  };

  const volumeWork = queue(async (name) => {
    const volume = volumes.get(name);
    if (volume === undefined) return;
    const finalizers = finalizersOf(volume);
    if (finalizers !== undefined && !isDying(volume)) {
      const { resourceVersion } = volume.metadata;
      await writer.patchVolume(volume, { metadata: { resourceVersion, finalizers } });
      return;
    }
    const uid = text(claimRefOf(volume), 'uid');
    if (uid === '') {
      await writer.setPhase(volume, 'Available');
      return;
    }
    const claim = claims.get(claimKeyOf(volume) ?? '');
    if (claim === undefined || claim.metadata.uid !== uid) return reclaim(reclaiming, volume);
    if (volumeNameOf(claim) !== name) return syncHalfBound(volume, claim);
    await writer.setPhase(volume, 'Bound');
  });

  claims.onChange(({ object }) => {
    const key = keyOf(object);
    claimWork.add(key);
    const name = volumeNameOf(object);
    if (name !== '') volumeWork.add(name);
    for (const { metadata } of promisedTo(key)) volumeWork.add(metadata.name ?? '');
  });
  volumes.onChange(({ type, object }) => {
    const { name = '' } = object.metadata;
    volumeWork.add(name);
    for (const claim of naming(name)) claimWork.add(keyOf(claim));
    const key = claimKeyOf(object);
    if (key !== undefined) claimWork.add(key);
    else if (type !== 'deleted') for (const claim of unboundOf(classOfVolume(object))) claimWork.add(keyOf(claim));
  });
  classes.onChange(({ object }) => {
    const waiting = [...unboundOf(object.metadata.name ?? ''), ...unboundOf('')];
    for (const claim of waiting) claimWork.add(keyOf(claim));
  });
  pods.onChange(({ type, object, old }) => {
    if (type === 'updated' && old !== undefined && isTerminal(old) === isTerminal(object)) return;
    for (const name of claimNamesOf(object)) {
      const key = `${namespaceOf(object)}/${name}`;
      const claim = claims.get(key);
      if (claim !== undefined && isUnbound(claim) && volumeNameOf(claim) === '') claimWork.add(key);
      if (claim === undefined) for (const { metadata } of promisedTo(key)) volumeWork.add(metadata.name ?? '');
    }
  });
}

/**
 * Binds claims to volumes, makes volumes for classes of the provisioner `kubernetes.io/host-path`, and reclaims those whose claims
 * have gone.
 * @see kubernetes pkg/controller/volume/persistentvolume
 */
export const volumeBinder: Controller = { name: 'persistentvolume-binder', setup };
