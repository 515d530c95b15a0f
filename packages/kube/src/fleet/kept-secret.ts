import { errorText } from '../base/error-text.ts';
import type { KubeClient } from '../contract/client.ts';
import { ignoreNotFound } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubeObject } from '../contract/objects.ts';
import { secrets } from '../types/core.ts';

/**
 * Adds and removes the finalizer on the kubeconfig Secret of a cluster. The finalizer keeps the Secret for a new
 * process until the machines of a deleted namespace are gone.
 */
export class KeptSecret {
  readonly #finalizer: string;
  readonly #log: Logger;

  constructor(finalizer: string, log: Logger) {
    this.#finalizer = finalizer;
    this.#log = log;
  }

  isKept({ metadata }: KubeObject): boolean {
    return metadata.finalizers?.includes(this.#finalizer) ?? false;
  }

  async keep(client: KubeClient, secret: KubeObject): Promise<void> {
    if (this.isKept(secret) || secret.metadata.deletionTimestamp !== undefined) return;
    await this.#write(client, secret, { finalizers: [this.#finalizer] });
  }

  async free(client: KubeClient, secret: KubeObject): Promise<void> {
    await this.#write(client, secret, { '$deleteFromPrimitiveList/finalizers': [this.#finalizer] });
  }

  async #write(client: KubeClient, { metadata }: KubeObject, change: object): Promise<void> {
    const { name, namespace, uid } = metadata;
    const body = { metadata: { uid, ...change } };
    try {
      await ignoreNotFound(client.resource(secrets, namespace).patch(name, { type: 'strategic', body }));
    } catch (error) {
      const secret = `${namespace}/${name}`;
      this.#log.warn('Cannot write the finalizer of the kubeconfig Secret', { secret, error: errorText(error) });
    }
  }
}
