import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { crds, machineClasses, machines } from '@mcm/api';
import {
  type BinaryContext,
  type BinaryDefinition,
  errorText,
  type Flags,
  type FlagValues,
  flagGroup,
  type Logger,
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
import { registerDriverMetrics } from '../metrics/driver.ts';
import { registerMachineMetrics } from '../metrics/machine.ts';
import { openTraces, type Traces } from '../tracing/open.ts';
import { buildMachineController } from './build.ts';
import { ControlCluster } from './control-cluster.ts';
import {
  checkMachineFlags,
  isFeatureOn,
  keptVmsOf,
  MACHINE_FEATURES,
  machineDefaultsOf,
  machineFlags,
  orphanOptionsOf,
  reachabilityOf,
  timeoutsOf,
} from './flags.ts';

/** Name of the Lease and of the event source: the original's, so that the two never work at once. */
const NAME = 'machine-controller';

/** The controllers of `buildMachineController` with queues of their own. */
const CONTROLLERS = ['machine', 'secret', 'machineclass', 'machinesafetyorphanvms', 'machinesafetyapiserver'];

/** Randomness that nobody can guess. */
const secretRandom: Random = { next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48 };

/** What it reads and writes of ours. */
const NEEDED_KINDS: ReadonlySet<string> = new Set(['Machine', 'MachineClass']);

type MachineFlags = typeof machineFlags;

/** A driver as flags and environment want it. */
export interface ConfiguredDriver<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** Where the cloud is other than by default, by the setting that says so; told once at the start. */
  readonly endpoints?: Readonly<Record<string, string>>;
  /** What may be meant, but is likely wrong; one sentence each, told once at the start. */
  readonly warnings?: readonly string[];
}

/** Flags of a provider's own, and what they make of its driver. */
export interface ProviderSettings<F extends Flags, Spec, Credentials> {
  /** They stand in `--help` under "Cloud", and in the environment and the file of `--config` as all others. */
  readonly flags: F;
  /**
   * Called once at the start, before anything is connected.
   * @throws ConfigError which names the setting that is wrong and the cure: the process's last line
   */
  configure(flags: FlagValues<F>): ConfiguredDriver<Spec, Credentials> | Promise<ConfiguredDriver<Spec, Credentials>>;
}

/** What the `machine-controller` binary is made of beside its driver. */
export interface BinaryParts<F extends Flags, Spec, Credentials> {
  readonly version?: string;
  readonly tracer?: DriverTracer | undefined;
  readonly tracing?: TracingSettings | TracingOff;
  readonly provider?: ProviderSettings<F, Spec, Credentials> | undefined;
  /** The file of `NODE_EXTRA_CA_CERTS`: Node itself passes over one that it cannot read. */
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
    description: `Machine controller of the ${driver.name} provider: makes, watches, drains and deletes machines. With "schema" (or "schema --markdown") in place of flags: prints what a MachineClass and its Secret may hold.`,
    leaseName: NAME,
    metricsPrefix: 'mcm_',
    crds: crds.filter(({ spec }) => NEEDED_KINDS.has(spec.names.kind)),
    defaults: { port: 10_259, concurrency: 50, controllers: CONTROLLERS, features: MACHINE_FEATURES },
    flags: { ...machineFlags, ...flagGroup('Cloud', provider?.flags ?? {}) },
    check: checkMachineFlags,
    configure: async (flags) => {
      if (provider) configured = await provider.configure(flags as unknown as FlagValues<F>);
      const { endpoints = {}, warnings = [] } = configured;
      return {
        ...(Object.keys(endpoints).length > 0 ? { settings: { endpoints } } : {}),
        warnings: [...warnings, ...(await faultsOfAuthorities(authorities))],
      };
    },
    units: async (context) => [
      unitOf(configured.driver, context, tracer, await openTraces(tracing, { ...tracesOf(context), name, version })),
    ],
  };
}

/** What is wrong with a file of certificate authorities: servers that it should vouch for are not trusted. */
async function faultsOfAuthorities(file: string | undefined): Promise<readonly string[]> {
  if (!file) return [];
  const fault = await readFile(file, 'utf8').then(
    (text) => (text.includes('-----BEGIN CERTIFICATE-----') ? undefined : 'holds no certificate in PEM'),
    (thrown: unknown) => `cannot be read (${errorText(thrown)})`,
  );
  return fault === undefined
    ? []
    : [
        `NODE_EXTRA_CA_CERTS names ${file}, which ${fault}: its authorities are not trusted; correct the path or leave it out`,
      ];
}

const tracesOf = ({ clock, log, metrics }: BinaryContext<MachineFlags>) => ({ clock, log, meters: metrics.meters });

function unitOf<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  context: BinaryContext<MachineFlags>,
  tracer: DriverTracer | undefined,
  traces: Traces | undefined,
): Unit {
  reportStrayRejections(context.log);
  const { control, target, namespace, clock, random, log, recorder, targetRecorder, metrics, runtime, flags, fence } =
    context;
  const same = ['', flags['target-kubeconfig']].includes(flags['control-kubeconfig']);
  const cluster = new ControlCluster({
    control,
    // One cluster has one Lease already, and who only looks takes none.
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
    tracer: tracer ?? tracing?.driver,
    owner: cluster.owner,
    fence: cluster.fence,
    siblingCredentials: isFeatureOn(flags, 'SiblingCredentials'),
  });
  const { machines: cached, classes } = controller.caches;
  const stages = registerMachineMetrics(metrics.meters, {
    machines: cached,
    classOf: ({ metadata, spec }) => classes.store.get(makeKey(metadata.namespace, spec.class.name ?? '')),
    frozen: controller.frozen,
    suspects: controller.suspects,
    rechecks: controller.rechecks,
    clock,
    ...(tracing ? { alsoReported: tracing.stage } : {}),
  });
  if (tracing) cached.onChange(tracing.changed);
  driverMetrics.reportStages(stages);
  return {
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
}

/** Connections of a process to its cloud. */
const CONNECTIONS = 64;

/** Time, randomness and network of this process, for a driver. To be called from a provider's `main` and nowhere else. */
export const processContext = (): DriverContext => ({
  clock: realClock,
  random: secretRandom,
  connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
});

/**
 * A promise that a driver or its library forgot about is told of and ends nothing: the machines of all classes would
 * stop for it. What was awaited fails its own call. Nobody knows what the error holds, so only its kind is told.
 */
function reportStrayRejections(log: Logger): void {
  process.on('unhandledRejection', (reason) => {
    const kind = reason instanceof Error ? reason.name : typeof reason;
    log.error('Unhandled promise rejection in driver code', { kind });
  });
}

/** How a provider's machine controller is run. */
export interface MachineControllerSettings<F extends Flags, Spec, Credentials> {
  readonly version?: string;
  /** Where the driver's calls leave spans; default: the tracer of an OpenTelemetry SDK loaded into the process, if any. */
  readonly tracer?: DriverTracer;
  /** Flags of the provider's own; absent: there are none, and the driver runs as it is. */
  readonly provider?: ProviderSettings<F, Spec, Credentials>;
}

/**
 * Runs a provider's machine controller as this process, and ends the process with its exit code: 0 after a request to
 * end, 1 when it cannot start or lost its lease. With `schema` as its argument it prints the JSON Schema of provider spec
 * and Secret, with `schema --markdown` the reference, and ends. To be called from a provider's `main` and nowhere else.
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
  // A first list of 20,000 pods lets V8's young generation grow and never shrink again: 233 MB resident instead of 170.
  setFlagsFromString('--semi-space-growth-factor=1');
  const tracing = tracingSettings(process.env);
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  const parts = { tracer, tracing, provider, authorities, ...(version === undefined ? {} : { version }) };
  process.exit(await runBinary(machineControllerBinary(driver, parts)));
}
