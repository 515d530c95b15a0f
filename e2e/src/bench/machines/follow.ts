import type { KubeClient, KubeObject, ResourceDefinition } from '@mcm/kube';

export class Follower<T extends KubeObject> {
  readonly objects = new Map<string, T>();
  readonly #stop = new AbortController();
  #waiting: (() => void)[] = [];

  static async start<T extends KubeObject>(
    client: KubeClient,
    definition: ResourceDefinition<T>,
    namespace?: string,
  ): Promise<Follower<T>> {
    const follower = new Follower<T>();
    const resource = client.resource<T>(definition, namespace);
    const list = await resource.list({});
    for (const object of list.items) follower.objects.set(object.metadata.name, object);
    const { resourceVersion } = list.metadata;
    void follower.#follow(resource.watch({ resourceVersion, signal: follower.#stop.signal }));
    return follower;
  }

  async #follow(events: AsyncIterable<{ type: string; object: unknown }>): Promise<void> {
    try {
      for await (const { type, object } of events) {
        if (type === 'BOOKMARK') continue;
        const { metadata } = object as T;
        if (type === 'DELETED') this.objects.delete(metadata.name);
        else this.objects.set(metadata.name, object as T);
        for (const wake of this.#waiting.splice(0)) wake();
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  async until(state: string, holds: (objects: ReadonlyMap<string, T>) => boolean, timeoutMs: number): Promise<number> {
    const start = performance.now();
    while (!holds(this.objects)) {
      const left = timeoutMs - (performance.now() - start);
      if (left <= 0) throw new Error(`timeout after ${timeoutMs} ms while waiting for this state: ${state}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return (performance.now() - start) / 1000;
  }

  stop(): void {
    this.#stop.abort(new Error('stopped'));
  }
}
