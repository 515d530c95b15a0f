import { Annotations } from '@mcm/api';
import { isConflict, isNotFound, type KubeClient, nodes } from '@mcm/kube';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import type { Life } from '../node/life.ts';

export interface NoticeAgentOptions {
  readonly client: KubeClient;
  readonly life: Life;
  readonly nodeName: string;
  readonly behaviour: () => KubeletBehaviour;
  readonly outage: { failed(error: unknown): void; worked(): void };
}

const RETRY_MS = 2_000;

/** Simulates the machine-config-daemon, which records an interruption of the VM in its Node. */
export class NoticeAgent {
  readonly #options: NoticeAgentOptions;
  #written = '';

  constructor(options: NoticeAgentOptions) {
    this.#options = options;
  }

  consider(): void {
    const { life, behaviour } = this.#options;
    const notice = behaviour().notice ?? '';
    if (notice === this.#written) return;
    this.#written = notice;
    life.run(() => this.#write(notice));
  }

  async #write(notice: string): Promise<void> {
    const { client, life, nodeName, outage } = this.#options;
    const body = { metadata: { annotations: { [Annotations.Interruption]: notice || null } } };
    try {
      await client.resource(nodes).patch(nodeName, { type: 'merge', body }, { signal: life.signal });
      outage.worked();
    } catch (error) {
      if (life.over || isNotFound(error)) return;
      if (!isConflict(error)) outage.failed(error);
      this.#written = '';
      life.after(RETRY_MS, () => this.consider());
    }
  }
}
