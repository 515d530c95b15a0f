import { Annotations } from '@mcm/api';
import {
  type Clock,
  createOutageLog,
  isConflict,
  isNotFound,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  pause,
  type Transport,
} from '@mcm/kube';
import { planNotice } from './plan.ts';
import type { NoticeSource } from './sources.ts';

/**
 * Interval between two reads of the metadata service. The shortest notice is 30 s, and the services allow one request
 * per second.
 */
const LOOK_EVERY_MS = 2_000;
/** Time limit of a read. The metadata service is on the host of the VM, so it responds immediately or never. */
const LOOK_FOR_MS = 5_000;

/** The metadata service from which the daemon reads notices, and the Node to which the daemon writes them. */
export interface NoticeWatchOptions {
  readonly source: NoticeSource;
  readonly metadata: Transport;
  readonly client: KubeClient;
  readonly node: () => Node | undefined;
  readonly wrote: (node: Node) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Reads the notices of the metadata service until the signal aborts. */
export async function watchNotices(options: NoticeWatchOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  const outages = createOutageLog('Request for interruptions to the metadata service', clock, log);
  while (!signal.aborted) {
    try {
      await look(options, signal);
      outages.worked();
    } catch (error) {
      if (signal.aborted) return;
      outages.failed(error);
    }
    await pause(clock, LOOK_EVERY_MS, signal);
  }
}

async function look({ source, metadata, client, node, wrote, clock, log }: NoticeWatchOptions, signal: AbortSignal) {
  const end = new AbortController();
  const timer = clock.setTimeout(
    () => end.abort(new Error(`no response from the metadata service within ${LOOK_FOR_MS} ms`)),
    LOOK_FOR_MS,
  );
  try {
    const notices = await source(metadata, AbortSignal.any([signal, end.signal]));
    const own = node();
    const value = own && planNotice(own, notices, clock.now());
    if (!own || value === undefined) return;
    log.info(value === null ? 'Interruption is over' : 'The cloud interrupts the VM of this node', { notice: value });
    const { name, uid } = own.metadata;
    const body = { metadata: { uid, annotations: { [Annotations.Interruption]: value } } };
    wrote(await client.resource(nodes).patch(name, { type: 'merge', body }, { signal }));
  } catch (error) {
    // If the Node was replaced in the meantime, the next read writes the notice to the new Node.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  } finally {
    timer.cancel();
  }
}
