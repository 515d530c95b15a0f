import { type ControlPlane, type ControlPlaneOptions, type PlaneRequest, startControlPlane } from './plane.ts';
import { unlessAborted } from './server/transport.ts';
import type { StoreSnapshot } from './store/store.ts';

/** Options of a restore. */
export interface RestoreOptions {
  /**
   * The number that a restore adds to the revision of the backup, like `etcdutl snapshot restore --bump-revision`. With
   * the default 0, the revision can be lower after a restore.
   */
  readonly bumpRevision?: number;
}

/** A control plane in this process with methods for a restore and a crash. */
export interface RestorablePlane
  extends Pick<ControlPlane, 'fetch' | 'transport' | 'snapshot' | 'compact' | 'close' | 'kubeconfig'> {
  /**
   * Stops the control plane and its watches, and starts another one with the objects and the revision of the backup.
   */
  restore(snapshot: StoreSnapshot, options?: RestoreOptions): Promise<void>;
  /**
   * Ends all connections immediately, as a crash does, and refuses all requests until `restart`. Copy the files of the
   * store before the next turn of the event loop, because the control plane may write later.
   */
  crash(): void;
  restart(store: NonNullable<ControlPlaneOptions['store']>): Promise<void>;
}

const RESET = 'read ECONNRESET';
const REFUSED = 'connect ECONNREFUSED';

/** Starts a control plane that supports restores and crashes. The control plane opens no socket. */
export async function startRestorablePlane(options: Omit<ControlPlaneOptions, 'port'> = {}): Promise<RestorablePlane> {
  let plane = await startControlPlane(options);
  let life = new AbortController();
  let closed: Promise<void> = Promise.resolve();
  const end = (): void => {
    const ended = life;
    life = new AbortController();
    ended.abort(new Error(RESET));
  };
  const bound = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? life.signal : AbortSignal.any([signal, life.signal]);
  return {
    fetch: async (request) => {
      life.signal.throwIfAborted();
      return unlessAborted(plane.fetch(new Request(request, { signal: bound(request.signal) })), life.signal);
    },
    transport: (request: PlaneRequest) => plane.transport({ ...request, signal: bound(request.signal) }),
    snapshot: () => plane.snapshot(),
    compact: () => plane.compact(),
    kubeconfig: () => plane.kubeconfig(),
    close: () => plane.close(),
    restore: async (snapshot, restored = {}) => {
      const { adminToken } = plane;
      await plane.close();
      plane = await startControlPlane({ ...options, adminToken, store: { snapshot, ...restored } });
      end();
    },
    crash: () => {
      end();
      life.abort(new Error(REFUSED));
      closed = plane.close();
    },
    restart: async (store) => {
      const { adminToken } = plane;
      await closed;
      plane = await startControlPlane({ ...options, adminToken, store });
      life = new AbortController();
    },
  };
}
