import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { crds, machineClasses, machines } from '@mcm/api';
import {
  type BinaryContext,
  type BinaryDefinition,
  type Clock,
  errorText,
  type Flags,
  type FlagValues,
  flagGroup,
  type Logger,
  type Meters,
  makeKey,
  type Random,
  realClock,
  runBinary,
  secrets,
  type TracingOff,
  type TracingSettings,
  tracingSettings,
  type Unit,
  undiciTransport,
} from '@mcm/kube';
import type { DriverContext } from '../driver/contract/context.ts';
import { type DriverTracer, registeredTracer } from '../driver/invoker/api/tracing.ts';
import type { DriverDefinition } from '../driver/schemas/define-driver.ts';
import { driverReference, referenceText } from '../driver/schemas/reference.ts';
import { knownOf } from '../driver/secrets/known.ts';
import { journalOf } from '../journal/flags.ts';
import type { Journal } from '../journal/journal.ts';
import { registerDriverMetrics } from '../metrics/driver.ts';
import { registerInterruptionMetrics } from '../metrics/interruptions.ts';
import { registerMachineMetrics, type StageObserver } from '../metrics/machine.ts';
import { journalPage } from '../replay/page.ts';
import { openTraces, type Traces } from '../tracing/open.ts';
import { buildMachineController, type MachineController } from './build.ts';
import { ControlCluster } from './control-cluster.ts';
import {
  checkMachineFlags,
  isFeatureOn,
  keptVmsOf,
  MACHINE_FEATURES,
  type MachineFlagValues,
  machineDefaultsOf,
  machineFlags,
  orphanOptionsOf,
  reachabilityOf,
  timeoutsOf,
} from './flags.ts';

/** Name of the Lease and of the event source. The name equals the name in the original, so both programs never work at the same time. */
const NAME = 'machine-controller';

/** The controllers of `buildMachineController` with queues. */
const CONTROLLERS = ['machine', 'secret', 'machineclass', 'machinesafetyorphanvms', 'machinesafetyapiserver'];

/** A secure source of random numbers. */
const secretRandom: Random = { next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48 };

/** The kinds of mcm that it reads and writes. */
const NEEDED_KINDS: ReadonlySet<string> = new Set(['Machine', 'MachineClass']);

type MachineFlags = typeof machineFlags;

/** A driver that is configured by flags and environment. */
export interface ConfiguredDriver<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** Non-default endpoints of the cloud by the name of their setting. They are logged once at the start. */
  readonly endpoints?: Readonly<Record<string, string>>;
  /** Settings that are valid but probably wrong, one sentence each. They are logged once at the start. */
  readonly warnings?: readonly string[];
}

/** Flags of a provider, and the function that configures its driver with them. */
export interface ProviderSettings<F extends Flags, Spec, Credentials> {
  /** They are in `--help` under "Cloud", and in the environment and the file of `--config` like all others. */
  readonly flags: F;
  /**
   * Called once at the start, before any connection.
   * @throws ConfigError with the invalid setting and a hint, which become the last line of the process
   */
  configure(flags: FlagValues<F>): ConfiguredDriver<Spec, Credentials> | Promise<ConfiguredDriver<Spec, Credentials>>;
}

/** The parts of the `machine-controller` binary in addition to its driver. */
export interface BinaryParts<F extends Flags, Spec, Credentials> {
  readonly version?: string | undefined;
  readonly tracer?: DriverTracer | undefined;
  readonly tracing?: TracingSettings | TracingOff;
  readonly provider?: ProviderSettings<F, Spec, Credentials> | undefined;
  /** The file of `NODE_EXTRA_CA_CERTS`. Node itself ignores a file that it cannot read. */
  readonly authorities?: string | undefined;
}

/** The `machine-controller` binary around a driver. */
export function machineControllerBinary<F extends Flags, Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  { version = '0.1.0', tracer, tracing = { off: true }, provider, authorities }: BinaryParts<F, Spec, Credentials> = {},
): BinaryDefinition<MachineFlags> {
  const name = `${NAME}-${driver.name}`;
  let configured: ConfiguredDriver<Spec, Credentials> = { driver };
  return {
    name,
    version,
    description: `Machine controller of the ${driver.name} provider: creates, checks, drains and deletes machines. The argument "schema" (or "schema --markdown") prints the fields of a MachineClass and its Secret.`,
    leaseName: NAME,
    metricsPrefix: 'mcm_',
    crds: crds.filter(({ spec }) => NEEDED_KINDS.has(spec.names.kind)),
    defaults: { port: 10_259, concurrency: 50, controllers: CONTROLLERS, features: MACHINE_FEATURES },
    flags: { ...machineFlags, ...flagGroup('Cloud', provider?.flags ?? {}) },
    check: checkMachineFlags,
    configure: async (flags) => {
      if (provider) configured = await provider.configure(flags as FlagValues<F>);
      const { endpoints = {}, warnings = [] } = configured;
      return {
        settings: Object.keys(endpoints).length > 0 ? { endpoints } : undefined,
        warnings: [...warnings, ...(await faultsOfAuthorities(authorities))],
      };
    },
    units: async (context) => {
      const traces = await openTraces(tracing, { ...tracesOf(context), name, version });
      const journal = journalOf(context.flags);
      const { controller, unit } = unitOf(configured.driver, context, { tracer, traces, journal });
      const known = () => knownOf(controller.caches.secrets.store.list());
      context.pages.serve(journalPage({ journal, version, controller: name, clock: context.clock, known }));
      return [unit];
    },
  };
}

/** Registers the metrics of machines. @returns the observer of their stages */
function stagesOf(
  controller: MachineController,
  meters: Meters,
  clock: Clock,
  alsoReported: StageObserver | undefined,
): StageObserver {
  const { machines: cached, classes } = controller.caches;
  return registerMachineMetrics(meters, {
    machines: cached,
    classOf: ({ metadata, spec }) => classes.store.get(makeKey(metadata.namespace, spec.class.name ?? '')),
    frozen: controller.frozen,
    suspects: controller.suspects,
    shortages: controller.shortages,
    rechecks: controller.rechecks,
    clock,
    alsoReported,
  });
}

/** Errors of a file of certificate authorities. Its servers would not be trusted. */
async function faultsOfAuthorities(file: string | undefined): Promise<readonly string[]> {
  if (!file) return [];
  const fault = await readFile(file, 'utf8').then(
    (text) => (text.includes('-----BEGIN CERTIFICATE-----') ? undefined : 'contains no PEM certificate'),
    (thrown: unknown) => `cannot be read (${errorText(thrown)})`,
  );
  return fault === undefined
    ? []
    : [
        `NODE_EXTRA_CA_CERTS names ${file}, which ${fault}; its certificates are not trusted; correct the path or remove the variable`,
      ];
}

interface UnitParts {
  readonly tracer: DriverTracer | undefined;
  readonly traces: Traces | undefined;
  readonly journal: Journal;
}

const tracesOf = ({ clock, log, metrics }: BinaryContext<MachineFlags>) => ({ clock, log, meters: metrics.meters });

function unitOf<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  context: BinaryContext<MachineFlags>,
  { tracer, traces, journal }: UnitParts,
): { readonly controller: MachineController; readonly unit: Unit } {
  reportStrayRejections(context.log);
  const { control, target, namespace, clock, random, log, recorder, targetRecorder, metrics, runtime, flags, fence } =
    context;
  const same = ['', flags['target-kubeconfig']].includes(flags['control-kubeconfig']);
  const cluster = new ControlCluster({
    control,
    // A single cluster has one Lease already, and an observing process takes none.
    target: same || context.observe ? undefined : target,
    namespace,
    fence,
    clock,
    random,
    log,
  });
  const tracing = traces?.lives();
  const driverMetrics = registerDriverMetrics(metrics.meters, driver.name, clock);
  const controller = buildMachineController({
    driver,
    observe: context.observe,
    control,
    target,
    namespace,
    clock,
    random,
    secretRandom,
    log,
    recorder,
    targetRecorder,
    runtime,
    defaults: machineDefaultsOf(flags),
    concurrency: flags['concurrent-syncs'],
    concurrencyByController: flags['concurrent-syncs-by-controller'],
    bootstrapTokenExtraGroups: flags['bootstrap-token-auth-extra-groups'],
    timeouts: timeoutsOf(flags),
    orphans: orphanOptionsOf(flags),
    reachability: reachabilityOf(flags),
    probes: { control: context.controlAs('reachability'), target: context.targetAs('reachability') },
    volumeWindow: flags['drain-volume-window'],
    evidencePerClass: flags['failure-evidence-per-class'],
    keptVms: keptVmsOf(flags),
    queueMetrics: metrics.queues,
    observeCall: driverMetrics.observe,
    observeApi: driverMetrics.observeApi,
    interruptions: interruptionsOf(flags, metrics.meters, driver.name),
    tracer: tracer ?? tracing?.driver,
    owner: cluster.owner,
    fence: cluster.fence,
    siblingCredentials: isFeatureOn(flags, 'SiblingCredentials'),
    journal,
  });
  const { machines: cached } = controller.caches;
  const stages = stagesOf(controller, metrics.meters, clock, tracing?.stage);
  if (tracing) cached.onChange(tracing.changed);
  driverMetrics.reportStages(stages);
  const unit: Unit = {
    name: NAME,
    needs: [...[machines, machineClasses, secrets].map((definition) => ({ client: control, definition }))],
    informers: controller.informers,
    spares: controller.spares,
    run: async (signal) => {
      await cluster.run(signal, (term) => controller.runControllers(term));
      await Promise.all([recorder, targetRecorder].map((each) => each?.flush()));
      await traces?.exporter.flush();
    },
  };
  return { controller, unit };
}

const interruptionsOf = ({ interruptions }: MachineFlagValues, meters: Meters, provider: string) =>
  interruptions ? { observe: registerInterruptionMetrics(meters, provider) } : undefined;

/** Connections of a process to its cloud. */
const CONNECTIONS = 64;

/** Time, randomness and network of this process, for a driver. Only the `main` of a provider calls it. */
export const processContext = (): DriverContext => ({
  clock: realClock,
  random: secretRandom,
  connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
});

/**
 * Logs an unhandled promise rejection in driver code. The process continues, because its end would stop the machines of
 * all classes. An awaited rejection only fails its own call. The error may contain secrets, so only its kind is logged.
 */
function reportStrayRejections(log: Logger): void {
  process.on('unhandledRejection', (reason) => {
    const kind = reason instanceof Error ? reason.name : typeof reason;
    log.error('Unhandled promise rejection in driver code', { kind });
  });
}

/** Settings of a provider's machine controller. */
export interface MachineControllerSettings<F extends Flags, Spec, Credentials> {
  readonly version?: string;
  /** Creates spans for the driver's calls. Default: the tracer of an OpenTelemetry SDK in the process, if any. */
  readonly tracer?: DriverTracer;
  /** Flags of the provider. Absent: there are none, and the driver needs no configuration. */
  readonly provider?: ProviderSettings<F, Spec, Credentials>;
}

/**
 * Runs a provider's machine controller as this process, and ends the process with its exit code: 0 after a termination
 * request, 1 if it cannot start or lost its Lease. With the argument `schema` it prints the JSON Schema of provider
 * spec and Secret, with `schema --markdown` the reference, and ends. Only the `main` of a provider calls it.
 */
export async function runMachineController<Spec, Credentials, F extends Flags = Flags>(
  driver: DriverDefinition<Spec, Credentials>,
  { version, tracer = registeredTracer(), provider }: MachineControllerSettings<F, Spec, Credentials> = {},
): Promise<never> {
  const [command, format] = process.argv.slice(2);
  if (command === 'schema') {
    const reference = driverReference(driver);
    const text = format === '--markdown' ? referenceText(reference) : `${JSON.stringify(reference, null, 2)}\n`;
    await new Promise((resolve) => process.stdout.write(text, resolve));
    process.exit(0);
  }
  // A first list of 20,000 pods makes V8's young generation grow, and it never shrinks again: 233 MB resident instead
  // of 170.
  setFlagsFromString('--semi-space-growth-factor=1');
  const tracing = tracingSettings(process.env);
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  const parts = { tracer, tracing, provider, authorities, version };
  process.exit(await runBinary(machineControllerBinary(driver, parts)));
}
