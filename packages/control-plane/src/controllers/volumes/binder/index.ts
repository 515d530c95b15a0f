import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import type { Recorder } from '../../events/events.ts';
import { isTerminal, namespaceOf } from '../../objects/fields.ts';
import { keyOf } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import type { WorkQueue } from '../../runtime/queue.ts';
import { BindingWriter } from './bind.ts';
import { claimNamesOf } from './claims.ts';
import {
  type BinderEvent,
  type ClaimStep,
  decideClaim,
  decideVolume,
  isUnbound,
  type VolumeStep,
  volumeNameOf,
} from './decide.ts';
import { claimKeyOf, classOfVolume } from './match.ts';
import { type Provisioning, provision } from './provision.ts';
import { type Reclaiming, reclaim } from './reclaim.ts';
import { BinderCaches } from './view.ts';

type Tools = Provisioning & Reclaiming;

function setup({ api, informer, queue, recorder }: ControllerContext): void {
  const tell = recorder('persistentvolume-controller');
  const caches = new BinderCaches(informer);
  const { claims, volumes, classes } = caches;
  const users = (volume: ApiObject): string[] => caches.usersOf(volume);
  const tools: Tools = { api, writer: new BindingWriter(api), classes, tell, users };

  const claimWork = queue(async (key) => {
    const claim = claims.get(key);
    if (claim !== undefined) await applyToClaim(tools, claim, decideClaim(caches.observe(claim)));
  });
  const volumeWork = queue(async (name) => {
    const volume = volumes.get(name);
    if (volume === undefined) return;
    const step = decideVolume(volume, caches.claimOf(volume));
    if (step.kind === 'ask claim') claimWork.add(keyOf(step.claim));
    else await applyToVolume(tools, volume, step);
  });
  follow(caches, claimWork, volumeWork);
}

async function applyToClaim(tools: Tools, claim: ApiObject, step: ClaimStep): Promise<void> {
  const { writer, tell } = tools;
  const { resourceVersion } = claim.metadata;
  switch (step.kind) {
    case 'bind':
      return writer.bind(step.volume, claim);
    case 'use class':
      await writer.patchClaim(claim, { metadata: { resourceVersion }, spec: { storageClassName: step.name } });
      return;
    case 'provision':
      return provision(tools, claim);
    case 'phase': {
      const written = await writer.setClaimStatus(claim, step.phase);
      // The controller writes the event about a lost volume only when the phase changes.
      if (step.event !== undefined && (written || step.phase === 'Pending')) report(tell, claim, step.event);
      return;
    }
    case 'report':
      return report(tell, claim, step.event);
    default:
  }
}

async function applyToVolume(
  tools: Tools,
  volume: ApiObject,
  step: Exclude<VolumeStep, { kind: 'ask claim' }>,
): Promise<void> {
  const { writer, tell } = tools;
  switch (step.kind) {
    case 'finalizers': {
      const { resourceVersion } = volume.metadata;
      await writer.patchVolume(volume, { metadata: { resourceVersion, finalizers: step.finalizers } });
      return;
    }
    case 'phase':
      await writer.setPhase(volume, step.phase);
      return;
    case 'reclaim':
      return reclaim(tools, volume);
    case 'unbind':
      return writer.unbind(volume);
    default:
      report(tell, volume, step.onVolume);
      report(tell, step.claim, step.onClaim);
  }
}

const report = (tell: Recorder, object: ApiObject, { type, reason, message }: BinderEvent): void =>
  tell(object, type, reason, message);

function follow(caches: BinderCaches, claimWork: WorkQueue, volumeWork: WorkQueue): void {
  const { claims, volumes, classes, pods, promisedTo, unboundOf, naming } = caches;
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
 * Binds claims to volumes, and reclaims volumes of deleted claims. For the provisioner `kubernetes.io/host-path`,
 * creates volumes.
 * @see kubernetes pkg/controller/volume/persistentvolume
 */
export const volumeBinder: Controller = { name: 'persistentvolume-binder', setup };
