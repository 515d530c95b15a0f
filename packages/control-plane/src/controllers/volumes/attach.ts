import { createHash } from 'node:crypto';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { isPlain, items, look, strings, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf } from '../runtime/informer.ts';
import { conditionOf, isDying, isTerminal, namespaceOf, nodeNameOf } from '../runtime/objects.ts';
import { CLAIMS, CSI_DRIVERS, NODES, PODS, VOLUME_ATTACHMENTS, VOLUMES } from '../runtime/resources.ts';
import { claimNamesOf } from './binder/claims.ts';

/** The name of an attachment in the real controller: `csi-` and a hash. */
const attachmentName = (handle: string, driver: string, node: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;

/** The unique name of a CSI volume in the status of nodes. */
const volumeId = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

/** A volume that pods of a node use. */
interface Wanted {
  readonly name: string;
  readonly driver: string;
  readonly handle: string;
  readonly volume: ApiObject;
  readonly pods: ApiObject[];
}

const COMPONENT = 'attachdetach-controller';

/** Whether several nodes may attach a volume at the same time. A volume without access modes has no such limit. */
function isShared(volume: ApiObject): boolean {
  const modes = strings(look(volume, 'spec'), 'accessModes');
  return modes.length === 0 || modes.includes('ReadWriteMany') || modes.includes('ReadOnlyMany');
}

/** How long an unhealthy node may keep a volume that no pod of it needs any more. */
const FORCE_DETACH_MS = 6 * 60 * 1000;
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** Whether an administrator has marked the node as permanently down. */
export const isOutOfService = (node: ApiObject | undefined): boolean =>
  items(look(node, 'spec'), 'taints').some(({ key }) => key === OUT_OF_SERVICE);

/** The properties of a node that decide whether its volumes may be detached. */
const detachView = (node: ApiObject | undefined): string => {
  const inUse = strings(look(node, 'status'), 'volumesInUse').join();
  const ready = node === undefined ? undefined : conditionOf(node, 'Ready')?.status;
  return `${inUse} ${ready} ${isOutOfService(node)}`;
};

/** The message that names the pods which use a volume for one node only. */
function takenMessage(near: readonly (string | undefined)[], far: number): string {
  if (near.length + far === 0)
    return "Volume is already exclusively attached to one node and can't be attached to another";
  const elsewhere = `${far} pod(s) in different namespaces`;
  if (near.length === 0) return `Volume is already used by ${elsewhere}`;
  return `Volume is already used by pod(s) ${near.join(', ')}${far === 0 ? '' : ` and ${elsewhere}`}`;
}

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const tell = recorder(COMPONENT);
  const pods = informer(PODS);
  const nodes = informer(NODES);
  const claims = informer(CLAIMS);
  const volumes = informer(VOLUMES);
  const drivers = informer(CSI_DRIVERS);
  const attachments = informer(VOLUME_ATTACHMENTS);
  /** Since when an attachment is no longer wanted while a kubelet still has its volume mounted (milliseconds). */
  const pending = new Map<string, number>();
  const podsOn = pods.index((pod) => [nodeNameOf(pod)]);
  const attachmentsOn = attachments.index((one) => [text(look(one, 'spec'), 'nodeName')]);
  const attachmentsOf = attachments.index((one) => [text(look(one, 'spec', 'source'), 'persistentVolumeName')]);
  /** Attachments of a node that another attachment prevents. Each is reported once. */
  const refused = new Map<string, Set<string>>();
  const podsUsing = pods.index((pod) => claimNamesOf(pod).map((name) => `${namespaceOf(pod)}/${name}`));
  const claimsOf = claims.index((claim) => [text(look(claim, 'spec'), 'volumeName')]);

  /** The attachable volumes that the pods of a node use. */
  const wantedOn = (node: string): Map<string, Wanted> => {
    const wanted = new Map<string, Wanted>();
    for (const pod of podsOn(node)) {
      if (isTerminal(pod)) continue;
      for (const claimName of claimNamesOf(pod)) {
        const claim = claims.get(`${namespaceOf(pod)}/${claimName}`);
        const volume = volumes.get(text(look(claim, 'spec'), 'volumeName'));
        const csi = look(volume, 'spec').csi;
        if (volume === undefined || !isPlain(csi)) continue;
        const driver = text(csi, 'driver');
        if (look(drivers.get(driver), 'spec').attachRequired === false) continue;
        const handle = text(csi, 'volumeHandle');
        const name = attachmentName(handle, driver, node);
        const known = wanted.get(name);
        if (known === undefined) wanted.set(name, { name, driver, handle, volume, pods: [pod] });
        else known.pods.push(pod);
      }
    }
    return wanted;
  };

  /** Reports to pods that another node has their volume. Does not name pods of other namespaces. */
  const tellTaken = ({ volume, pods: waiting }: Wanted, holders: readonly string[]): void => {
    const users = claimsOf(volume.metadata.name ?? '')
      .flatMap((claim) => podsUsing(keyOf(claim)))
      .filter((pod) => holders.includes(nodeNameOf(pod)) && !isTerminal(pod));
    for (const pod of waiting) {
      const near = users.filter((user) => namespaceOf(user) === namespaceOf(pod)).map((user) => user.metadata.name);
      const message = `Multi-Attach error for volume "${volume.metadata.name}" ${takenMessage(near, users.length - near.length)}`;
      tell(pod, 'Warning', 'FailedAttachVolume', message);
    }
  };

  const attach = async (node: string, wanted: Wanted): Promise<void> => {
    const { name, driver, volume } = wanted;
    const holders = attachmentsOf(volume.metadata.name ?? '').map((one) => text(look(one, 'spec'), 'nodeName'));
    if (!isShared(volume) && holders.some((holder) => holder !== node)) {
      const told = refused.get(node) ?? new Set();
      if (!told.has(name)) tellTaken(wanted, holders);
      refused.set(node, told.add(name));
      return;
    }
    refused.get(node)?.delete(name);
    const attachment = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name },
      spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: volume.metadata.name } },
    };
    await allowing(api.create(VOLUME_ATTACHMENTS, attachment), 409);
  };

  const idOf = (attachment: ApiObject): string => {
    const volume = volumes.get(text(look(attachment, 'spec', 'source'), 'persistentVolumeName'));
    const csi = look(volume, 'spec', 'csi');
    return volumeId(text(csi, 'driver') || text(look(attachment, 'spec'), 'attacher'), text(csi, 'volumeHandle'));
  };

  /** Updates the list of attached volumes of a node. */
  const report = async (node: ApiObject): Promise<void> => {
    const { name = '', resourceVersion } = node.metadata;
    const attached = attachmentsOn(name)
      .filter((one) => look(one, 'status').attached === true && !isDying(one))
      .map((one) => ({ name: idOf(one), devicePath: '' }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const known = items(look(node, 'status'), 'volumesAttached').map((one) => text(one, 'name'));
    if (JSON.stringify([...known].sort()) === JSON.stringify(attached.map((one) => one.name))) return;
    const status = { volumesAttached: attached.length === 0 ? null : attached };
    await allowing(
      api.patch(NODES, { name, subresource: 'status' }, { metadata: { resourceVersion }, status }),
      404,
      409,
    );
  };

  /**
   * When a volume is detached although a kubelet still has it mounted. From a node that is out of service it is immediately, and from
   * an unhealthy or deleted node after six minutes. It is never from a healthy node.
   */
  const forcedAt = (node: ApiObject | undefined, attachment: ApiObject): number => {
    const { name: key = '' } = attachment.metadata;
    const since = pending.get(key) ?? clock.now().getTime();
    pending.set(key, since);
    if (isOutOfService(node)) return 0;
    const isHealthy = node !== undefined && conditionOf(node, 'Ready')?.status === 'True';
    return isHealthy ? Number.POSITIVE_INFINITY : since + FORCE_DETACH_MS;
  };

  const tellAttached = (use: Wanted | undefined): void => {
    if (use === undefined) return;
    const message = `AttachVolume.Attach succeeded for volume "${use.volume.metadata.name}" `;
    for (const pod of use.pods) tell(pod, 'Normal', 'SuccessfulAttachVolume', message);
  };

  const work = queue(async (name) => {
    const node = nodes.get(name);
    const wanted = wantedOn(name);
    for (const told of refused.get(name) ?? []) if (!wanted.has(told)) refused.get(name)?.delete(told);
    if (refused.get(name)?.size === 0) refused.delete(name);
    const inUse = new Set(strings(look(node, 'status'), 'volumesInUse'));
    for (const attachment of attachmentsOn(name)) {
      const { name: attachmentKey = '' } = attachment.metadata;
      const use = wanted.get(attachmentKey);
      if (use !== undefined || isDying(attachment)) {
        wanted.delete(attachmentKey);
        pending.delete(attachmentKey);
        // This controller also acts as the attacher of the driver, so it reports the volume as attached immediately.
        if (look(attachment, 'status').attached !== true && !isDying(attachment)) {
          const place = { name: attachmentKey, subresource: 'status' };
          const done = await allowing(api.patch(VOLUME_ATTACHMENTS, place, { status: { attached: true } }), 404, 409);
          if (done !== undefined) tellAttached(use);
        }
        continue;
      }
      // The mounts of a node that is gone are unknown.
      const mounted = node === undefined || inUse.has(idOf(attachment));
      const waitUntil = mounted ? forcedAt(node, attachment) : 0;
      if (clock.now().getTime() < waitUntil) {
        if (waitUntil !== Number.POSITIVE_INFINITY) work.addAt(name, new Date(waitUntil));
        continue;
      }
      pending.delete(attachmentKey);
      await allowing(api.delete(VOLUME_ATTACHMENTS, { name: attachmentKey }), 404);
    }
    if (node === undefined || isDying(node)) return;
    for (const one of wanted.values()) await attach(name, one);
    await report(node);
  });

  const enqueueClaim = (key: string): void => {
    for (const pod of podsUsing(key)) if (nodeNameOf(pod) !== '') work.add(nodeNameOf(pod));
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
      pending.delete(object.metadata.name ?? '');
      // Another node may wait for the volume.
      const volume = text(look(object, 'spec', 'source'), 'persistentVolumeName');
      for (const claim of claimsOf(volume)) enqueueClaim(keyOf(claim));
    }
    work.add(text(look(object, 'spec'), 'nodeName'));
  });
  nodes.onChange(({ type, object, old }) => {
    const { name = '' } = object.metadata;
    if (attachmentsOn(name).length === 0) return;
    if (type !== 'updated' || detachView(object) !== detachView(old)) work.add(name);
  });
  claims.onChange(({ object }) => enqueueClaim(`${namespaceOf(object)}/${object.metadata.name}`));
  volumes.onChange(({ object }) => {
    for (const claim of claimsOf(object.metadata.name ?? ''))
      enqueueClaim(`${namespaceOf(claim)}/${claim.metadata.name}`);
  });
}

/**
 * Attaches CSI volumes to the nodes whose pods use them, and detaches them afterwards. It also replaces the external attachers of all
 * drivers.
 * @see kubernetes pkg/controller/volume/attachdetach
 */
export const attachDetach: Controller = { name: 'attachdetach', setup };
