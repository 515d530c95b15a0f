import type { Image, Instance, Quotas, Volume } from '../../machine/model.ts';
import type { CloudStore } from '../store/store.ts';

/**
 * The stored objects of the cloud. To change an object, a caller changes the object in memory and then calls `save…`.
 */
export class CloudState {
  readonly instances = new Map<string, Instance>();
  readonly volumes = new Map<string, Volume>();
  readonly images = new Map<string, Image>();
  /** The IDs of the existing instances, by client token. */
  readonly clientTokens = new Map<string, string>();
  readonly #volumesOf = new Map<string, Set<string>>();
  readonly #homes = new Map<string, string>();
  readonly #addresses = new Set<string>();
  readonly #store: CloudStore;
  quotas: Quotas = {};

  constructor(store: CloudStore) {
    this.#store = store;
    for (const { kind, id, body } of store.load()) this.#restore(kind, id, body);
  }

  #restore(kind: string, id: string, body: unknown): void {
    if (kind === 'instance') this.#index(body as Instance);
    else if (kind === 'volume') this.#indexVolume(body as Volume);
    else if (kind === 'image') this.images.set(id, body as Image);
    else if (kind === 'quotas') this.quotas = body as Quotas;
  }

  /** Runs several changes in one transaction of the store. */
  atomically(work: () => void): void {
    this.#store.atomically(work);
  }

  saveInstance(instance: Instance): void {
    this.#store.put('instance', instance.id, instance);
    this.#index(instance);
  }

  forgetInstance(instance: Instance): void {
    this.#store.remove('instance', instance.id);
    this.instances.delete(instance.id);
    this.#volumesOf.delete(instance.id);
  }

  saveVolume(volume: Volume): void {
    this.#store.put('volume', volume.id, volume);
    this.#indexVolume(volume);
  }

  forgetVolume(volume: Volume): void {
    this.#store.remove('volume', volume.id);
    this.volumes.delete(volume.id);
    this.#detach(volume.id);
  }

  saveImage(image: Image): void {
    this.#store.put('image', image.id, image);
    this.images.set(image.id, image);
  }

  forgetImage(id: string): void {
    this.#store.remove('image', id);
    this.images.delete(id);
  }

  saveQuotas(quotas: Quotas): void {
    this.#store.put('quotas', 'account', quotas);
    this.quotas = quotas;
  }

  volumesOf(instanceId: string): Volume[] {
    const ids = [...(this.#volumesOf.get(instanceId) ?? [])];
    return ids.flatMap((id) => this.volumes.get(id) ?? []);
  }

  /** Returns the next free address of 10.180.0.0/16. */
  nextAddress(): string {
    for (let n = this.#addresses.size + 10; ; n++) {
      const address = `10.180.${Math.floor(n / 256) % 256}.${n % 256}`;
      if (!this.#addresses.has(address) || n > 131_072) return address;
    }
  }

  #index(instance: Instance): void {
    this.instances.set(instance.id, instance);
    const alive = instance.state !== 'terminated';
    if (alive) this.#addresses.add(instance.privateIp);
    else this.#addresses.delete(instance.privateIp);
    const { clientToken } = instance;
    if (clientToken === undefined) return;
    if (alive) this.clientTokens.set(clientToken, instance.id);
    else if (this.clientTokens.get(clientToken) === instance.id) this.clientTokens.delete(clientToken);
  }

  #indexVolume(volume: Volume): void {
    this.volumes.set(volume.id, volume);
    this.#detach(volume.id);
    if (volume.instanceId === undefined) return;
    this.#homes.set(volume.id, volume.instanceId);
    const ids = this.#volumesOf.get(volume.instanceId);
    if (ids) ids.add(volume.id);
    else this.#volumesOf.set(volume.instanceId, new Set([volume.id]));
  }

  #detach(volumeId: string): void {
    const home = this.#homes.get(volumeId);
    if (home === undefined) return;
    this.#homes.delete(volumeId);
    this.#volumesOf.get(home)?.delete(volumeId);
  }
}
