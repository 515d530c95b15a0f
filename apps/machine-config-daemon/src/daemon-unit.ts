import type { EventRecorder, Informer, InformerRuntime, KubeClient, Node, Unit } from '@mcm/kube';
import { nodes } from '@mcm/kube';
import {
  DaemonDriver,
  type DaemonHost,
  type DisruptionPolicy,
  machineConfigs,
  NodeDaemon,
  type NoticeWatchOptions,
  wantedPaths,
  watchNotices,
} from '@mcm/machine-config';
import { DiskWatch } from './watch-disk.ts';

/** The clients and other objects that the daemon needs. */
export interface DaemonUnitOptions {
  readonly nodeName: string;
  readonly root: string;
  readonly host: DaemonHost;
  readonly policy: DisruptionPolicy;
  readonly informer: Informer<Node>;
  readonly runtime: InformerRuntime;
  readonly nodeClient: KubeClient;
  readonly configClient: KubeClient;
  readonly recorder: EventRecorder;
  /** If `notices` is undefined, the daemon reads no notices. */
  readonly notices?: Pick<NoticeWatchOptions, 'source' | 'metadata'> | undefined;
}

/** Creates the daemon as a unit of the binary. */
export function createDaemonUnit(options: DaemonUnitOptions): Unit {
  const { nodeName, root, host, policy, informer, runtime, nodeClient, configClient, recorder, notices } = options;
  const { clock, random, log } = runtime;
  const run = async (signal: AbortSignal): Promise<void> => {
    const working = new Set<Promise<void>>();
    const life = {
      signal,
      run: (work: () => Promise<void>) => {
        const task = work()
          .catch((error: unknown) => {
            if (!signal.aborted) log.error('Daemon failed', { error });
          })
          .finally(() => working.delete(task));
        working.add(task);
      },
      after: (ms: number, work: () => void) => clock.setTimeout(() => !signal.aborted && work(), ms),
    };
    const node = {
      get: () => informer.store.get(nodeName),
      wrote: (written: Node) => informer.recordWrite(written),
    };
    const daemon = new NodeDaemon({
      nodeName,
      client: nodeClient,
      configs: configClient,
      node,
      host,
      clock,
      random,
      log,
      recorder,
      policy,
      ended: () => signal.aborted,
      onStored: (config) =>
        watch
          .follow(wantedPaths(config))
          .catch((error: unknown) =>
            log.warn('Cannot watch the disk for changes; the daemon detects changes only at its next start', { error }),
          ),
    });
    const driver = new DaemonDriver(daemon, life, random, (error) =>
      log.warn('Reconcile of the node failed; retrying', { error }),
    );
    const watch = new DiskWatch(root, clock, () => {
      daemon.diskChanged();
      driver.consider();
    });
    informer.onChange(() => driver.consider());
    driver.consider();
    const { get, wrote } = node;
    const watched = notices && watchNotices({ ...notices, client: nodeClient, node: get, wrote, clock, log }, signal);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    watch.close();
    await watched;
  };
  const needs = [
    { client: nodeClient, definition: nodes },
    { client: configClient, definition: machineConfigs },
  ];
  return { name: 'daemon', needs, informers: [informer], run };
}
