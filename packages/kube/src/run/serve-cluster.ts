import type { Logger } from '../contract/logger.ts';
import type { Fence } from '../election/fence.ts';
import { runElected } from '../election/run-elected.ts';
import type { CommonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import { recordedIdentity, TARGET_UID } from '../fleet/identity.ts';
import type { LeaseBook } from '../fleet/peers/lease-book.ts';
import { type ClusterRun, LeaseLost } from '../fleet/served-cluster.ts';
import type { Slots } from '../fleet/slots.ts';
import { createMetrics, type Metrics } from '../metrics/create-metrics.ts';
import type { Connections, Dial } from './cluster/clusters.ts';
import { connectMember, type MemberClusters } from './cluster/member-clusters.ts';
import { createContext } from './context.ts';
import type { BinaryDefinition } from './definition.ts';
import { DebugPages } from './health/debug-pages.ts';
import type { Host } from './process/host.ts';
import { reportedSettings } from './reported-settings.ts';
import { UnitRunner } from './units.ts';
import { AnswerWatcher, CertificatesInUse, Warnings } from './warnings/index.ts';
import { workUntil } from './work.ts';

/** The parts of a process that its clusters share. */
export interface SharedParts<F extends Flags> {
  readonly definition: BinaryDefinition<F>;
  readonly host: Host;
  readonly flags: FlagValues<F> & FlagValues<CommonFlags>;
  readonly log: Logger;
  readonly dial: Dial;
  /** Connections to the seed. Undefined if each cluster contains its own machine objects. */
  readonly seed: Connections | undefined;
  readonly slots: Slots;
  /** The Leases of the seed. Undefined without a seed. */
  readonly book: LeaseBook | undefined;
  /** Returns a unique identity for a Lease. */
  readonly nextIdentity: () => string;
  /** Called when a cluster is served, with its metrics and pages. The returned function is called at the end. */
  readonly serving: (cluster: string, metrics: Metrics, pages: DebugPages) => () => void;
}

/** A leader renews its Lease after this part of the renew deadline, which leaves time for several attempts. */
const RENEW_PART = 0.4;

/** The parts of one cluster. Nothing of it is shared with other clusters. */
interface Own {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly pages: DebugPages;
  readonly warnings: Warnings;
  readonly certificates: CertificatesInUse;
  readonly clusters: MemberClusters;
  /** The end of all work, which may be later than the release of the Lease. */
  work: Promise<void>;
}

/** Serves one cluster of a fleet: its own connections, Lease, caches, controllers and metrics. */
export async function serveCluster<F extends Flags>(run: ClusterRun, shared: SharedParts<F>): Promise<void> {
  const own = await connect(run, shared);
  const other = new AbortController();
  const { identity, namespace, same, control } = own.clusters;
  identity.onOther = (error) => other.abort(error);
  const signal = AbortSignal.any([run.signal, other.signal]);
  const { definition, host, flags } = shared;
  const common: FlagValues<CommonFlags> = flags;
  const lease = { namespace, name: leaseNameOf(definition) };
  try {
    const client = control.urgentClient('leader-election');
    const recorded = await recordedIdentity(client, lease, signal);
    const uid = await identity.expect(recorded ?? (same ? run.memory.uid : undefined));
    run.memory.uid = uid;
    const renewDeadlineMs = common['leader-elect-renew-deadline'];
    const retryMs = common['leader-elect-retry-period'];
    run.progress.state('waiting');
    let lost = '';
    const end = await runElected(
      {
        client,
        lease,
        // Each run has its own identity. A former run whose release failed therefore counts as another process.
        identity: shared.nextIdentity(),
        timings: { leaseMs: common['leader-elect-lease-duration'], renewDeadlineMs, retryMs },
        renewMs: Math.max(retryMs, renewDeadlineMs * RENEW_PART),
        clock: host.clock,
        random: host.random,
        log: own.log,
        signal,
        version: definition.version,
        settings: reportedSettings(definition.flags, flags),
        observed: () => shared.book?.of(namespace),
        annotations: { [TARGET_UID]: uid },
        onLeader: (holder) => run.progress.state('waiting', holder),
        onLost: (because) => {
          lost = because;
        },
        follow: true,
      },
      (term, fence) => work({ run, shared, own, term, stop: signal, fence }),
    );
    await own.work;
    if (end === 'lost') throw new LeaseLost(`Lease ${lease.namespace}/${lease.name} lost: ${lost}`);
    other.signal.throwIfAborted();
  } finally {
    await own.clusters.close();
  }
}

/** Returns the name of the Lease in the namespace of each cluster. */
export const leaseNameOf = <F extends Flags>({ leaseName, name }: BinaryDefinition<F>): string => leaseName ?? name;

async function connect<F extends Flags>({ member }: ClusterRun, shared: SharedParts<F>): Promise<Own> {
  const { definition, host, flags, dial, seed, slots } = shared;
  const { clock, random, env } = host;
  const common: FlagValues<CommonFlags> = flags;
  const { metricsPrefix: prefix, name, version } = definition;
  const metrics = createMetrics({ prefix, process: false });
  const log = shared.log.with({ cluster: member.name });
  const warnings = new Warnings(log, metrics.meters);
  const certificates = new CertificatesInUse();
  const line = slots.cluster();
  const clusters = await connectMember(member, {
    binary: name,
    version,
    leaseName: leaseNameOf(definition),
    seed: seed && { ...seed, transport: line.wrap(seed.transport) },
    qps: common['kube-api-qps'],
    burst: common['kube-api-burst'],
    env,
    clock,
    random,
    dial: (options) => {
      const opened = dial(options);
      return options.connections === 1 ? opened : Object.assign(line.wrap(opened), { close: () => opened.close() });
    },
    metrics,
    log,
    warnings,
    certificates,
    answers: new AnswerWatcher({ clock, warnings, meters: metrics.meters }),
  });
  return { log, metrics, pages: new DebugPages(), warnings, certificates, clusters, work: Promise.resolve() };
}

interface Work<F extends Flags> {
  readonly run: ClusterRun;
  readonly shared: SharedParts<F>;
  readonly own: Own;
  readonly term: AbortSignal;
  readonly stop: AbortSignal;
  readonly fence: Fence;
}

async function work<F extends Flags>({ run, shared, own, term, stop, fence }: Work<F>): Promise<void> {
  const { definition, host, flags } = shared;
  const { log, metrics, pages, warnings, certificates, clusters } = own;
  // The wait for the Lease can be long, so the kubeconfig may lead to another cluster now.
  await clusters.identity.now();
  const { context, recorders } = createContext({
    name: definition.name,
    flags,
    cluster: run.member.name,
    namespace: clusters.namespace,
    clusters,
    host,
    log,
    metrics,
    decisions: undefined,
    pages,
    certificates,
    warnings,
    fence,
  });
  const runner = new UnitRunner({
    units: await definition.units(context),
    clock: host.clock,
    random: host.random,
    log,
  });
  metrics.caches(() => runner.cacheSizes());
  metrics.malformed(() => runner.malformed());
  const ended = shared.serving(run.member.name, metrics, pages);
  run.progress.state('serving', host.identity);
  const running = runner.run(term);
  own.work = running.catch(() => undefined); // The race below reports the error.
  try {
    await workUntil({ run: () => running }, { term, stop, clock: host.clock }, recorders);
  } finally {
    run.progress.state('stopping');
    ended();
  }
}
