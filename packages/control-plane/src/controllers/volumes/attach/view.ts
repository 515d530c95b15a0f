import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, text } from '../../../apimachinery/objects/plain.ts';
import { CLAIMS, CSI_DRIVERS, NODES, PODS, VOLUME_ATTACHMENTS, VOLUMES } from '../../client/resources.ts';
import { isDying, isTerminal, namespaceOf, nodeNameOf } from '../../objects/fields.ts';
import { nodeWords } from '../../objects/index-words.ts';
import { keyOf } from '../../objects/keys.ts';
import type { ControllerContext } from '../../runtime/controller.ts';
import type { Informer } from '../../runtime/informer.ts';
import { claimNamesOf, claimWords } from '../binder/claims.ts';
import { attachmentName, isOwnAttachment, volumeId } from './attachments.ts';
import type { NodeView, Wanted } from './decide.ts';

type Lookup = (key: string) => ApiObject[];

export class AttachCaches {
  readonly pods: Informer;
  readonly nodes: Informer;
  readonly claims: Informer;
  readonly volumes: Informer;
  readonly attachments: Informer;
  readonly #drivers: Informer;
  readonly #podsOn: Lookup;
  readonly #podsUsing: Lookup;
  readonly #attachmentsOf: Lookup;
  readonly attachmentsOn: Lookup;
  readonly claimsOf: Lookup;

  constructor(informer: ControllerContext['informer']) {
    this.pods = informer(PODS);
    this.nodes = informer(NODES);
    this.claims = informer(CLAIMS);
    this.volumes = informer(VOLUMES);
    this.attachments = informer(VOLUME_ATTACHMENTS);
    this.#drivers = informer(CSI_DRIVERS);
    this.#podsOn = this.pods.index(nodeWords);
    this.#podsUsing = this.pods.index(claimWords);
    this.#attachmentsOf = this.attachments.index((one) => [text(look(one, 'spec', 'source'), 'persistentVolumeName')]);
    this.attachmentsOn = this.attachments.index((one) =>
      isOwnAttachment(one) ? [text(look(one, 'spec'), 'nodeName')] : [],
    );
    this.claimsOf = this.claims.index((claim) => [text(look(claim, 'spec'), 'volumeName')]);
  }

  observe(name: string, unwantedSince: ReadonlyMap<string, number>, now: number): NodeView {
    const attachments = this.attachmentsOn(name).map((attachment) => ({
      attachment,
      id: this.#idOf(attachment),
      unwantedSince: unwantedSince.get(attachment.metadata.name ?? ''),
    }));
    return { name, node: this.nodes.get(name), attachments, wanted: [...this.#wantedOn(name).values()], now };
  }

  attachedTo(name: string): string[] {
    return this.attachmentsOn(name)
      .filter((one) => look(one, 'status').attached === true && !isDying(one))
      .map((one) => this.#idOf(one))
      .sort();
  }

  nodesUsing(claim: string): string[] {
    return this.#podsUsing(claim)
      .map(nodeNameOf)
      .filter((node) => node !== '');
  }

  usersOf(volume: ApiObject, nodes: readonly string[]): ApiObject[] {
    return this.claimsOf(volume.metadata.name ?? '')
      .flatMap((claim) => this.#podsUsing(keyOf(claim)))
      .filter((pod) => nodes.includes(nodeNameOf(pod)) && !isTerminal(pod));
  }

  #wantedOn(node: string): Map<string, Wanted> {
    const wanted = new Map<string, Wanted & { readonly pods: ApiObject[] }>();
    for (const pod of this.#podsOn(node)) {
      if (isTerminal(pod)) continue;
      for (const claimName of claimNamesOf(pod)) {
        const claim = this.claims.get(`${namespaceOf(pod)}/${claimName}`);
        const volume = this.volumes.get(text(look(claim, 'spec'), 'volumeName'));
        const csi = look(volume, 'spec').csi;
        if (volume === undefined || !isRecord(csi)) continue;
        const driver = text(csi, 'driver');
        if (look(this.#drivers.get(driver), 'spec').attachRequired === false) continue;
        const handle = text(csi, 'volumeHandle');
        const name = attachmentName(handle, driver, node);
        const known = wanted.get(name);
        const holders = this.#attachmentsOf(volume.metadata.name ?? '');
        if (known !== undefined) known.pods.push(pod);
        else {
          const holdingNodes = holders.map((one) => text(look(one, 'spec'), 'nodeName'));
          wanted.set(name, { name, driver, handle, volume, pods: [pod], holders: holdingNodes });
        }
      }
    }
    return wanted;
  }

  #idOf(attachment: ApiObject): string {
    const volume = this.volumes.get(text(look(attachment, 'spec', 'source'), 'persistentVolumeName'));
    const csi = look(volume, 'spec', 'csi');
    return volumeId(text(csi, 'driver') || text(look(attachment, 'spec'), 'attacher'), text(csi, 'volumeHandle'));
  }
}
