import { type ControlPlane, type ControlPlaneOptions, type PlaneRequest, startControlPlane } from './plane.ts';
import type { StoreSnapshot } from './store/store.ts';

/** How a backup is restored. */
export interface RestoreOptions {
  /** Added to the revision of the backup, as `etcdutl snapshot restore --bump-revision` does. Default 0: revisions go back. */
  readonly bumpRevision?: number;
}

/** A plane in process that a backup can be restored to. Requests reach whichever plane runs. */
export interface RestorablePlane
  extends Pick<ControlPlane, 'fetch' | 'transport' | 'snapshot' | 'close' | 'kubeconfig'> {
  /** Ends the plane that runs, breaks its watches, and starts one that has the objects and the revision of the backup. */
  restore(snapshot: StoreSnapshot, options?: RestoreOptions): Promise<void>;
}

const RESET = 'read ECONNRESET';

/** Starts a plane in memory, without a socket, whose history can go back. */
export async function startRestorablePlane(
  options: Omit<ControlPlaneOptions, 'store' | 'port'> = {},
): Promise<RestorablePlane> {
  let plane = await startControlPlane(options);
  let life = new AbortController();
  const bound = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? life.signal : AbortSignal.any([signal, life.signal]);
  return {
    fetch: (request) => plane.fetch(new Request(request, { signal: bound(request.signal) })),
    transport: (request: PlaneRequest) => plane.transport({ ...request, signal: bound(request.signal) }),
    snapshot: () => plane.snapshot(),
    kubeconfig: () => plane.kubeconfig(),
    close: () => plane.close(),
    restore: async (snapshot, restored = {}) => {
      const { adminToken } = plane;
      await plane.close();
      const next = await startControlPlane({ ...options, adminToken, store: { snapshot, ...restored } });
      const ended = life;
      life = new AbortController();
      plane = next;
      ended.abort(new Error(RESET));
    },
  };
}
