import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, text } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { NODES, VOLUME_ATTACHMENTS } from '../../client/resources.ts';
import { isDying, isTerminal, namespaceOf, nodeNameOf } from '../../objects/fields.ts';
import { keyOf } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import type { WorkQueue } from '../../runtime/queue.ts';
import { claimNamesOf } from '../binder/claims.ts';
import { detachView, takenMessage } from './attachments.ts';
import { decide, type Wanted } from './decide.ts';
import { AttachCaches } from './view.ts';

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const tell = recorder('attachdetach-controller');
  const caches = new AttachCaches(informer);
  const unwanted = new Map<string, number>();
  /** The attachments of each node that wait until the volume is detached from another node. */
  const refused = new Map<string, Set<string>>();

  /** Reports that a volume is attached to another node. */
  const reportTaken = ({ volume, pods, holders }: Wanted): void => {
    const users = caches.usersOf(volume, holders);
    for (const pod of pods) {
      const near = users.filter((user) => namespaceOf(user) === namespaceOf(pod)).map((user) => user.metadata.name);
      const message = `Multi-Attach error for volume "${volume.metadata.name}" ${takenMessage(near, users.length - near.length)}`;
      tell(pod, 'Warning', 'FailedAttachVolume', message);
    }
  };

  const reportAttached = (use: Wanted | undefined): void => {
    if (use === undefined) return;
    const message = `AttachVolume.Attach succeeded for volume "${use.volume.metadata.name}" `;
    for (const pod of use.pods) tell(pod, 'Normal', 'SuccessfulAttachVolume', message);
  };

  const work = queue(async (name) => {
    const view = caches.observe(name, unwanted, clock.now().getTime());
    const { attached, detach, waiting, lookAgainAt, create, refuse } = decide(view);
    for (const { attachment } of view.attachments) unwanted.delete(attachment.metadata.name ?? '');
    for (const [attachment, since] of waiting) unwanted.set(attachment, since);
    const reported = refused.get(name);
    refused.set(name, new Set(refuse.map((use) => use.name)));
    if (refuse.length === 0) refused.delete(name);
    for (const use of refuse) if (reported?.has(use.name) !== true) reportTaken(use);
    if (lookAgainAt !== undefined) work.addAt(name, new Date(lookAgainAt));
    for (const { name: attachment, use } of attached) {
      const place = { name: attachment, subresource: 'status' };
      const done = await allowing(api.patch(VOLUME_ATTACHMENTS, place, { status: { attached: true } }), 404, 409);
      if (done !== undefined) reportAttached(use);
    }
    for (const attachment of detach) await allowing(api.delete(VOLUME_ATTACHMENTS, { name: attachment }), 404);
    if (view.node === undefined || isDying(view.node)) return;
    for (const use of create) await attach(api, name, use);
    await report(api, view.node, caches.attachedTo(name));
  });
  follow(caches, work, (attachment) => unwanted.delete(attachment));
}

async function attach(api: Api, node: string, { name, driver, volume }: Wanted): Promise<void> {
  const attachment = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: volume.metadata.name } },
  };
  await allowing(api.create(VOLUME_ATTACHMENTS, attachment), 409);
}

async function report(api: Api, node: ApiObject, attached: readonly string[]): Promise<void> {
  const { name = '', resourceVersion } = node.metadata;
  const known = items(look(node, 'status'), 'volumesAttached').map((one) => text(one, 'name'));
  if (JSON.stringify(known.sort()) === JSON.stringify(attached)) return;
  const volumesAttached = attached.map((volume) => ({ name: volume, devicePath: '' }));
  const status = { volumesAttached: attached.length === 0 ? null : volumesAttached };
  await allowing(
    api.patch(NODES, { name, subresource: 'status' }, { metadata: { resourceVersion }, status }),
    404,
    409,
  );
}

function follow(caches: AttachCaches, work: WorkQueue, forget: (attachment: string) => void): void {
  const { pods, nodes, claims, volumes, attachments } = caches;
  const enqueueClaim = (claim: ApiObject): void => {
    for (const node of caches.nodesUsing(keyOf(claim))) work.add(node);
  };
  pods.onChange(({ type, object, old }) => {
    const node = nodeNameOf(object);
    if (node === '' || claimNamesOf(object).length === 0) return;
    const same =
      type === 'updated' && old !== undefined && nodeNameOf(old) === node && isTerminal(old) === isTerminal(object);
    if (!same) work.add(node);
  });
  attachments.onChange(({ type, object }) => {
    if (type === 'deleted') {
      forget(object.metadata.name ?? '');
      const volume = text(look(object, 'spec', 'source'), 'persistentVolumeName');
      for (const claim of caches.claimsOf(volume)) enqueueClaim(claim);
    }
    work.add(text(look(object, 'spec'), 'nodeName'));
  });
  nodes.onChange(({ type, object, old }) => {
    const { name = '' } = object.metadata;
    if (caches.attachmentsOn(name).length === 0) return;
    if (type !== 'updated' || detachView(object) !== detachView(old)) work.add(name);
  });
  claims.onChange(({ object }) => enqueueClaim(object));
  volumes.onChange(({ object }) => {
    for (const claim of caches.claimsOf(object.metadata.name ?? '')) enqueueClaim(claim);
  });
}

/**
 * Attaches CSI volumes to nodes and detaches them. The controller replaces the external attachers of all CSI drivers.
 * @see kubernetes pkg/controller/volume/attachdetach
 */
export const attachDetach: Controller = { name: 'attachdetach', setup };
