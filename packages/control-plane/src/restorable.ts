import { type ControlPlane, type ControlPlaneOptions, type PlaneRequest, startControlPlane } from './plane.ts';
import type { StoreSnapshot } from './store/store.ts';

/** Options of a restore. */
export interface RestoreOptions {
  /**
   * The number that a restore adds to the revision of the backup, as `etcdutl snapshot restore --bump-revision` does.
   * With the default 0, a restore decreases the revision.
   */
  readonly bumpRevision?: number;
}

/** A control plane in this process that can be restored from a backup. Requests go to the current control plane. */
export interface RestorablePlane
  extends Pick<ControlPlane, 'fetch' | 'transport' | 'snapshot' | 'close' | 'kubeconfig'> {
  /**
   * Ends the current control plane and its watches, and then starts a control plane with the objects and the revision
   * of the backup.
   */
  restore(snapshot: StoreSnapshot, options?: RestoreOptions): Promise<void>;
}

const RESET = 'read ECONNRESET';

/** Starts a control plane that supports restores. The control plane is in memory and has no socket. */
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
