import { createHash } from 'node:crypto';
import { isPlain, items, look, strings, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { conditionOf, isDying, isTerminal, namespaceOf, nodeNameOf } from '../runtime/objects.ts';
import { CLAIMS, CSI_DRIVERS, NODES, PODS, VOLUME_ATTACHMENTS, VOLUMES } from '../runtime/resources.ts';
import { claimNamesOf } from '../scheduler/volumes.ts';

/** `csi-` and a hash, as the real controller names attachments. */
export const attachmentName = (handle: string, driver: string, node: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;

/** The unique name of a CSI volume, as nodes list it. */
export const volumeId = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

interface Wanted {
  readonly name: string;
  readonly driver: string;
  readonly handle: string;
  readonly volume: string;
}

/** How long an unhealthy node may keep a volume that no pod of it needs any more. */
const FORCE_DETACH_MS = 6 * 60 * 1000;
export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** Whether somebody has said that the node is down for good. */
export const isOutOfService = (node: ApiObject | undefined): boolean =>
  items(look(node, 'spec'), 'taints').some(({ key }) => key === OUT_OF_SERVICE);

/** What of a node decides whether its volumes may be taken away. */
const detachView = (node: ApiObject | undefined): string => {
  const inUse = strings(look(node, 'status'), 'volumesInUse').join();
  const ready = node === undefined ? undefined : conditionOf(node, 'Ready')?.status;
  return `${inUse} ${ready} ${isOutOfService(node)}`;
};

function setup({ api, clock, informer, queue }: ControllerContext): void {
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
        wanted.set(name, { name, driver, handle, volume: volume.metadata.name ?? '' });
      }
    }
    return wanted;
  };

  const attach = async (node: string, { name, driver, volume }: Wanted): Promise<void> => {
    const attachment = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name },
      spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: volume } },
    };
    await allowing(api.create(VOLUME_ATTACHMENTS, attachment), 409);
  };

  const idOf = (attachment: ApiObject): string => {
    const volume = volumes.get(text(look(attachment, 'spec', 'source'), 'persistentVolumeName'));
    const csi = look(volume, 'spec', 'csi');
    return volumeId(text(csi, 'driver') || text(look(attachment, 'spec'), 'attacher'), text(csi, 'volumeHandle'));
  };

  /** Brings a node's list of attached volumes in step. */
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
   * When a volume that a kubelet still has mounted is taken away all the same: at once from a node that is out of service, after
   * six minutes from one that is unhealthy, never from a healthy one.
   */
  const forcedAt = (node: ApiObject, attachment: ApiObject): number => {
    const { name: key = '' } = attachment.metadata;
    const since = pending.get(key) ?? clock.now().getTime();
    pending.set(key, since);
    if (isOutOfService(node)) return 0;
    return conditionOf(node, 'Ready')?.status === 'True' ? Number.POSITIVE_INFINITY : since + FORCE_DETACH_MS;
  };

  const work = queue(async (name) => {
    const node = nodes.get(name);
    const wanted = wantedOn(name);
    const inUse = new Set(strings(look(node, 'status'), 'volumesInUse'));
    for (const attachment of attachmentsOn(name)) {
      const { name: attachmentKey = '' } = attachment.metadata;
      if (wanted.has(attachmentKey) || isDying(attachment)) {
        wanted.delete(attachmentKey);
        pending.delete(attachmentKey);
        // The driver's attacher is played here: what is asked for is attached at once.
        if (look(attachment, 'status').attached !== true && !isDying(attachment)) {
          await allowing(
            api.patch(
              VOLUME_ATTACHMENTS,
              { name: attachmentKey, subresource: 'status' },
              { status: { attached: true } },
            ),
            404,
            409,
          );
        }
        continue;
      }
      const waitUntil = node !== undefined && inUse.has(idOf(attachment)) ? forcedAt(node, attachment) : 0;
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
    if (type === 'deleted') pending.delete(object.metadata.name ?? '');
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
 * Attaches CSI volumes to the nodes whose pods use them, and detaches them after. It stands in for the external
 * attachers of all drivers too.
 * @see kubernetes pkg/controller/volume/attachdetach
 */
export const attachDetach: Controller = { name: 'attachdetach', setup };
