import { errorText } from '../base/error-text.ts';
import { ignoreNotFound } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import type { Fence } from '../election/fence.ts';
import { runElected } from '../election/run-elected.ts';
import type { CommonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import type { RolloutBudget } from '../fleet/budget/rollout-budget.ts';
import { isEmpty, LeaseDeleted, NamespaceEmpty, refusesNewObjects, whenEmpty } from '../fleet/deletion.ts';
import type { FleetFlags } from '../fleet/flags.ts';
import { CacheSize, handOverLarge, registerCacheSize } from '../fleet/hand-over.ts';
import { Hibernated, whenAsleep } from '../fleet/hibernation.ts';
import { OtherCluster, recordedIdentity } from '../fleet/identity.ts';
import { KeptSecret } from '../fleet/kept-secret.ts';
import type { Member } from '../fleet/member.ts';
import type { LeaseBook } from '../fleet/peers/lease-book.ts';
import { Reach, Unreachable } from '../fleet/reach.ts';
import type { RegionReach } from '../fleet/regions.ts';
import { ClusterGone, type ClusterRun, LeaseLost, type RunEnd } from '../fleet/served-cluster.ts';
import type { Slots } from '../fleet/slots.ts';
import { createMetrics, type Metrics } from '../metrics/create-metrics.ts';
import { leases } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';
import type { Connections, Dial } from './cluster/clusters.ts';
import { connectMember, type MemberClusters } from './cluster/member-clusters.ts';
import { createContext } from './context.ts';
import type { BinaryContext, BinaryDefinition } from './definition.ts';
import { DebugPages } from './health/debug-pages.ts';
import type { Host } from './process/host.ts';
import { reportedSettings } from './reported-settings.ts';
import { UnitRunner } from './units.ts';
import { AnswerWatcher, CertificatesInUse, Warnings } from './warnings/index.ts';
import { within, workUntil } from './work.ts';

export interface SharedParts<F extends Flags> {
  readonly definition: BinaryDefinition<F>;
  readonly host: Host;
  readonly flags: FlagValues<F> & FlagValues<CommonFlags>;
  readonly log: Logger;
  readonly dial: Dial;
  readonly seed: Connections | undefined;
  readonly slots: Slots;
  readonly answeredMs: () => number | undefined;
  readonly fleetFlags: Pick<FleetFlags, 'fleet-quiet-lease-duration' | 'fleet-cache-limit' | 'fleet-hibernate-after'>;
  readonly book: LeaseBook | undefined;
  readonly nextIdentity: () => string;
  readonly region: (cluster: string) => RegionReach | undefined;
  readonly event: (member: Member, reason: string, sentence: string) => void;
  readonly budget: RolloutBudget | undefined;
  readonly serving: (cluster: string, metrics: Metrics, pages: DebugPages) => () => void;
}

/**
 * A leader renews its Lease after this fraction of the renew deadline, so that several attempts are possible before the
 * deadline.
 */
const RENEW_PART = 0.4;

const QUIET_AFTER_MS = 60_000;

/**
 * The time limit for the last reconciles of a cluster. After the limit, the fence refuses all their writes. Otherwise,
 * a request without a response could delay the stop of the controllers by a minute.
 */
const LATE_LIMIT_MS = 5_000;

interface Own {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly pages: DebugPages;
  readonly warnings: Warnings;
  readonly certificates: CertificatesInUse;
  readonly clusters: MemberClusters;
  readonly reach: Reach;
  work: Promise<void>;
  idle: () => boolean;
}

export async function serveCluster<F extends Flags>(run: ClusterRun, shared: SharedParts<F>): Promise<RunEnd> {
  const own = await connect(run, shared);
  const ending = new AbortController();
  const { identity, namespace, control } = own.clusters;
  identity.onOther = (error) => ending.abort(error);
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const lease = { namespace, name: leaseNameOf(shared.definition) };
  try {
    const client = control.urgentClient('leader-election');
    const uid = await identify(run, own, await recordedIdentity(client, lease, signal));
    run.progress.state('waiting');
    let lost = '';
    // Each run has its own identity. If an earlier run did not release its Lease, the earlier run counts as another
    // process.
    const holder = shared.nextIdentity();
    const end = await runElected(
      {
        ...electionOf(run, shared, own),
        identity: holder,
        client,
        lease,
        signal,
        annotations: { [LeaseAnnotations.TargetClusterUid]: uid },
        releasedAs: () => (ending.signal.reason instanceof Hibernated ? LeaseAnnotations.FleetHibernated : undefined),
        finalizer: leaseFinalizer(run, shared, ending.signal),
        onForbidden: (error) => {
          if (refusesNewObjects(error)) ending.abort(new LeaseDeleted(leaseDeletedText(lease)));
        },
        onLost: (because) => {
          lost = because;
        },
      },
      (term, fence) =>
        work({ run, shared, own, holder, term, stop: signal, end: (error) => ending.abort(error), fence }),
    );
    await within(shared.host.clock, LATE_LIMIT_MS, own.work);
    if (end === 'lost') throw new LeaseLost(`Lease ${lease.namespace}/${lease.name} lost: ${lost}`);
    ending.signal.throwIfAborted();
    return 'stopped';
  } catch (error) {
    if (error instanceof Hibernated) return { ...error.sleep, leave: () => leaveLease(shared, lease, control) };
    if (await endsWith(error, run, shared, own)) return 'empty';
    throw error instanceof OtherCluster ? error : own.reach.explain(error);
  } finally {
    await own.clusters.close();
  }
}

/** Returns the object that maintains the finalizer on the kubeconfig Secrets. */
export const keptSecret = <F extends Flags>({
  definition: { fleet },
  log,
}: Pick<SharedParts<F>, 'definition' | 'log'>): KeptSecret | undefined =>
  fleet?.deletion && new KeptSecret(fleet.deletion.finalizer, log);

/**
 * Returns the finalizer for the Lease of a cluster in the seed. The Lease must exist until the machines of the
 * namespace are gone.
 */
function leaseFinalizer<F extends Flags>(run: ClusterRun, { definition, seed }: SharedParts<F>, ending: AbortSignal) {
  const name = definition.fleet?.deletion?.finalizer;
  if (seed === undefined || name === undefined) return undefined;
  const unused = (): boolean => ending.reason instanceof NamespaceEmpty || run.signal.reason instanceof ClusterGone;
  return { name, kept: () => !unused() };
}

/**
 * Removes the finalizer of a Lease. If a process acquires the Lease first, the write fails with a conflict, and the
 * finalizer stays.
 */
async function leaveLease<F extends Flags>(
  { definition, seed }: SharedParts<F>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  control: MemberClusters['control'],
): Promise<void> {
  const finalizer = definition.fleet?.deletion?.finalizer;
  if (seed === undefined || finalizer === undefined) return;
  const resource = control.client('fleet').resource(leases, namespace);
  const lease = await ignoreNotFound(resource.get(name));
  const known = lease?.metadata.finalizers ?? [];
  if (lease === undefined || (lease.spec?.holderIdentity ?? '') !== '' || !known.includes(finalizer)) return;
  const finalizers = known.filter((one) => one !== finalizer);
  await resource.update({ ...lease, metadata: { ...lease.metadata, finalizers } });
}

const leaseDeletedText = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `Lease ${namespace}/${name} was deleted with its namespace and cannot be created again; run a single process with --leader-elect=false`;

/**
 * Returns true if the deleted namespace needs no controllers any more, and removes the finalizer from the Secret. No
 * process can acquire a Lease in a deleted namespace, so this write needs no Lease.
 */
async function endsWith<F extends Flags>(
  error: unknown,
  run: ClusterRun,
  shared: SharedParts<F>,
  { clusters: { control, namespace } }: Own,
): Promise<boolean> {
  const content = shared.definition.fleet?.deletion?.content;
  if (shared.seed === undefined || content === undefined) return false;
  const client = control.client('fleet');
  const empty =
    error instanceof NamespaceEmpty ||
    (error instanceof LeaseDeleted && (await isEmpty({ client, namespace, content }, run.signal)));
  if (empty && run.member.about !== undefined) await keptSecret(shared)?.free(client, run.member.about);
  return empty;
}

/** Compares the identity of a cluster with the known identity, without a write. */
export async function probeCluster<F extends Flags>(run: ClusterRun, shared: SharedParts<F>): Promise<void> {
  const own = await connect(run, shared);
  try {
    await identify(run, own, await recorded(run, shared, own.clusters));
  } catch (error) {
    throw error instanceof OtherCluster ? error : own.reach.explain(error);
  } finally {
    await own.clusters.close();
  }
}

async function recorded<F extends Flags>(
  { signal }: ClusterRun,
  { definition, seed }: SharedParts<F>,
  { control, namespace }: MemberClusters,
): Promise<string | undefined> {
  if (seed === undefined) return undefined;
  const lease = { namespace, name: leaseNameOf(definition) };
  try {
    return await recordedIdentity(control.urgentClient('leader-election'), lease, signal);
  } catch (error) {
    throw new Unreachable(`cannot read Lease ${namespace}/${lease.name}: ${errorText(error)}`);
  }
}

async function identify(
  { memory }: ClusterRun,
  { clusters }: Pick<Own, 'clusters'>,
  recorded: string | undefined,
): Promise<string> {
  memory.uid = await clusters.identity.expect(recorded ?? (clusters.same ? memory.uid : undefined));
  return memory.uid;
}

function electionOf<F extends Flags>(run: ClusterRun, shared: SharedParts<F>, own: Own) {
  const { log, clusters } = own;
  const { definition, host, flags } = shared;
  const common: FlagValues<CommonFlags> = flags;
  const renewDeadlineMs = common['leader-elect-renew-deadline'];
  const retryMs = common['leader-elect-retry-period'];
  return {
    timings: { leaseMs: common['leader-elect-lease-duration'], renewDeadlineMs, retryMs },
    renewMs: Math.max(retryMs, renewDeadlineMs * RENEW_PART),
    quiet: quietTimings(shared, () => own.idle()),
    clock: host.clock,
    random: host.random,
    log,
    version: definition.version,
    settings: reportedSettings(definition.flags, flags),
    observed: () => shared.book?.of(clusters.namespace),
    onLeader: (holder: string) => run.progress.state('waiting', holder),
    follow: true,
  };
}

function quietTimings<F extends Flags>({ fleetFlags, host: { clock } }: SharedParts<F>, idle: () => boolean) {
  const leaseMs = fleetFlags['fleet-quiet-lease-duration'];
  if (leaseMs === 0) return undefined;
  let busyAt = clock.monotonic();
  const now = (): boolean => {
    if (!idle()) busyAt = clock.monotonic();
    return clock.monotonic() - busyAt >= QUIET_AFTER_MS;
  };
  return { leaseMs, renewDeadlineMs: (leaseMs * 2) / 3, renewMs: leaseMs / 3, now };
}

export const leaseNameOf = <F extends Flags>({ leaseName, name }: BinaryDefinition<F>): string => leaseName ?? name;

async function connect<F extends Flags>({ member, share }: ClusterRun, shared: SharedParts<F>): Promise<Own> {
  const { definition, host, flags, dial, seed, slots } = shared;
  const { clock, random, env } = host;
  const common: FlagValues<CommonFlags> = flags;
  const { metricsPrefix: prefix, name, version } = definition;
  const metrics = createMetrics({ prefix, process: false });
  const log = shared.log.with({ cluster: member.name });
  const warnings = new Warnings(log, metrics.meters);
  const certificates = new CertificatesInUse();
  const line = slots.cluster(share);
  const reach = new Reach(clock);
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
      const observed = reach.wrap(opened);
      return Object.assign(options.connections === 1 ? observed : line.wrap(observed), { close: () => opened.close() });
    },
    metrics,
    log,
    warnings,
    certificates,
    answers: new AnswerWatcher({ clock, warnings, meters: metrics.meters }),
  });
  return {
    log,
    metrics,
    pages: new DebugPages(),
    warnings,
    certificates,
    clusters,
    reach,
    work: Promise.resolve(),
    idle: () => false,
  };
}

interface Work<F extends Flags> {
  readonly run: ClusterRun;
  readonly shared: SharedParts<F>;
  readonly own: Own;
  readonly holder: string;
  readonly term: AbortSignal;
  readonly stop: AbortSignal;
  readonly end: (error: Error) => void;
  readonly fence: Fence;
}

async function work<F extends Flags>({ run, shared, own, holder, term, stop, end, fence }: Work<F>): Promise<void> {
  const { definition, host, flags } = shared;
  const { log, metrics, pages, warnings, certificates, clusters, reach } = own;
  // During a long wait for the Lease, the kubeconfig may have changed to a different cluster.
  await clusters.identity.now();
  const rollouts = shared.budget?.open(run.member.name, holder);
  const limitMiB = shared.fleetFlags['fleet-cache-limit'];
  const size = limitMiB === 0 ? undefined : new CacheSize(limitMiB);
  const { context, recorders } = createContext({
    name: definition.name,
    flags,
    cluster: run.member.name,
    region: () => shared.region(run.member.name),
    controlAnsweredMs: shared.seed && shared.answeredMs,
    rollouts,
    sized: size?.changed,
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
  const units = await definition.units(context);
  own.idle = () => units.every(({ quiet }) => quiet?.() ?? false);
  const runner = new UnitRunner({
    units,
    clock: host.clock,
    random: host.random,
    log,
  });
  metrics.caches(() => runner.cacheSizes());
  metrics.malformed(() => runner.malformed());
  if (size !== undefined) limitCaches({ size, limitMiB }, run, shared, context, term);
  prepareHibernation(run, shared, own, context, term, end);
  await prepareDeletion(run, shared, context, term, end);
  const ended = shared.serving(run.member.name, metrics, pages);
  run.progress.state('serving', host.identity);
  const running = runner.run(term);
  own.work = running.catch(() => undefined);
  const noted = (silent: boolean): void => run.progress.silent(silent);
  void reach.watch(() => clusters.identity.now(), run.elsewhere, noted, term).then((error) => error && end(error));
  try {
    await workUntil({ run: () => running }, { term, stop, clock: host.clock }, recorders);
  } finally {
    run.progress.state('stopping');
    ended();
    rollouts?.close();
  }
}

function limitCaches<F extends Flags>(
  limit: { readonly size: CacheSize; readonly limitMiB: number },
  { member }: ClusterRun,
  { definition: { name: program }, event }: SharedParts<F>,
  { controlAs, namespace, clock, log, metrics }: BinaryContext<F>,
  term: AbortSignal,
): void {
  registerCacheSize(metrics.meters, { bytes: () => limit.size.bytes });
  const report = (reason: string, sentence: string): void => event(member, reason, sentence);
  void handOverLarge({ ...limit, program, client: controlAs('fleet'), namespace, report, clock, log }, term);
}

function prepareHibernation<F extends Flags>(
  run: ClusterRun,
  { definition, fleetFlags, seed }: SharedParts<F>,
  own: Own,
  { namespace, runtime }: BinaryContext<F>,
  term: AbortSignal,
  end: (error: Error) => void,
): void {
  const content = definition.fleet?.hibernation?.content;
  const afterMs = fleetFlags['fleet-hibernate-after'];
  if (seed === undefined || content === undefined || afterMs === 0) return;
  const parts = {
    content,
    afterMs,
    idle: () => own.idle(),
    client: own.clusters.control.client('fleet'),
    namespace,
    runtime,
  };
  const awake = AbortSignal.any([run.signal, run.deletion]);
  void whenAsleep(parts, term, awake).then((hibernated) => hibernated && end(hibernated));
}

async function prepareDeletion<F extends Flags>(
  run: ClusterRun,
  shared: SharedParts<F>,
  { controlAs, namespace, runtime }: BinaryContext<F>,
  term: AbortSignal,
  end: (error: Error) => void,
): Promise<void> {
  const content = shared.definition.fleet?.deletion?.content;
  if (shared.seed === undefined || content === undefined) return;
  const client = controlAs('fleet');
  if (run.member.about !== undefined) await keptSecret(shared)?.keep(client, run.member.about);
  const watch = async (): Promise<void> => {
    if (await whenEmpty({ client, namespace, content, runtime }, term))
      end(new NamespaceEmpty(`namespace ${namespace} is being deleted and needs no controllers any more`));
  };
  onceAborted(run.deletion, term, () => void watch());
}

function onceAborted(signal: AbortSignal, over: AbortSignal, act: () => void): void {
  if (over.aborted) return;
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true, signal: over });
}
