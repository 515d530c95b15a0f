import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { crds, Finalizers, machineClasses, machineDeployments, machines } from '@mcm/api';
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
import { AccountRates } from '../driver/cloud/account-rates.ts';
import type { DriverContext } from '../driver/cloud/context.ts';
import { type DriverTracer, registeredTracer } from '../driver/invoker/api/tracing.ts';
import type { DriverDefinition } from '../driver/schemas/define-driver.ts';
import { driverReference, referenceText } from '../driver/schemas/reference.ts';
import { knownOf } from '../driver/secrets/known.ts';
import { type HookWebhook, readHookWebhooks } from '../hooks/webhooks/config.ts';
import { connectWebhook } from '../hooks/webhooks/connect.ts';
import { journalOf } from '../journal/flags.ts';
import type { Journal } from '../journal/journal.ts';
import { registerDriverMetrics } from '../metrics/driver.ts';
import { registerHookCallMetrics } from '../metrics/hooks.ts';
import { registerInterruptionMetrics } from '../metrics/interruptions.ts';
import { registerMachineMetrics, type StageObserver } from '../metrics/machine.ts';
import { journalPage } from '../replay/page.ts';
import { openTraces, type Traces } from '../tracing/open.ts';
import { buildMachineController, type MachineController } from './build.ts';
import { ControlCluster } from './control-cluster.ts';
import {
  checkMachineFlags,
  MACHINE_FEATURES,
  type MachineFlagValues,
  machineFlags,
  machineOptionsOf,
} from './flags.ts';
import { type FleetState, fleetState } from './fleet-state.ts';
import { hasReplicas } from './has-replicas.ts';

/** The Lease of the original has this name too, so mcm and the original never run at the same time. */
const NAME = 'machine-controller';

const CONTROLLERS = ['machine', 'secret', 'machineclass', 'machinesafetyorphanvms', 'machinesafetyapiserver'];

const secretRandom: Random = { next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48 };

const NEEDED_KINDS: ReadonlySet<string> = new Set(['Machine', 'MachineClass']);

type MachineFlags = typeof machineFlags;

/** A driver with the settings from flags and environment variables. */
export interface ConfiguredDriver<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** Endpoints of the cloud that differ from the default, for the log at the start of the process. */
  readonly endpoints?: Readonly<Record<string, string>>;
  /** Settings that are valid but probably wrong, one sentence each. */
  readonly warnings?: readonly string[];
}

/** The flags of a provider, and the function that configures its driver with them. */
export interface ProviderSettings<F extends Flags, Spec, Credentials> {
  /** The flags of the cloud, which `--help` lists under "Cloud". */
  readonly flags: F;
  /**
   * Configures the driver once, before the process opens a connection.
   * @throws ConfigError with the invalid setting and a hint, which the process prints before it exits
   */
  configure(flags: FlagValues<F>): ConfiguredDriver<Spec, Credentials> | Promise<ConfiguredDriver<Spec, Credentials>>;
}

export interface BinaryParts<F extends Flags, Spec, Credentials> {
  readonly version?: string | undefined;
  readonly tracer?: DriverTracer | undefined;
  readonly tracing?: TracingSettings | TracingOff;
  readonly provider?: ProviderSettings<F, Spec, Credentials> | undefined;
  /** The path in `NODE_EXTRA_CA_CERTS`. The process checks the file, because Node.js ignores an unreadable file. */
  readonly authorities?: string | undefined;
}

/** Builds the `machine-controller` binary around a driver. */
export function machineControllerBinary<F extends Flags, Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  { version = '0.1.0', tracer, tracing = { off: true }, provider, authorities }: BinaryParts<F, Spec, Credentials> = {},
): BinaryDefinition<MachineFlags> {
  const name = `${NAME}-${driver.name}`;
  let configured: ConfiguredDriver<Spec, Credentials> = { driver };
  let webhooks: readonly HookWebhook[] = [];
  const stateOf = fleetState();
  /** In fleet mode, each cluster has its own driver, so that no credentials are shared between clusters. */
  const driverOf = async ({ cluster, flags }: BinaryContext<MachineFlags>) =>
    cluster === undefined || !provider ? configured.driver : (await provider.configure(flags as FlagValues<F>)).driver;
  return {
    name,
    version,
    description: `Machine controller of the ${driver.name} provider: creates, checks, drains and deletes machines. The argument "schema" (or "schema --markdown") prints the fields of a MachineClass and its Secret.`,
    leaseName: NAME,
    metricsPrefix: 'mcm_',
    fleet: {
      without: [],
      deletion: {
        finalizer: Finalizers.FleetController,
        content: [
          { definition: machines },
          { definition: machineClasses },
          { definition: secrets, finalizer: Finalizers.Secret },
        ],
      },
      hibernation: {
        content: [
          { definition: machines, busy: () => true },
          { definition: machineDeployments, busy: hasReplicas },
          { definition: machineClasses },
          { definition: secrets },
        ],
      },
    },
    begin: reportStrayRejections,
    crds: crds.filter(({ spec }) => NEEDED_KINDS.has(spec.names.kind)),
    defaults: { port: 10_259, concurrency: 50, controllers: CONTROLLERS, features: MACHINE_FEATURES },
    flags: { ...machineFlags, ...flagGroup('Cloud', provider?.flags ?? {}) },
    check: checkMachineFlags,
    configure: async (flags) => {
      if (provider) configured = await provider.configure(flags as FlagValues<F>);
      if (flags['hook-webhooks'] !== '') webhooks = await readHookWebhooks(flags['hook-webhooks']);
      const { endpoints = {}, warnings = [] } = configured;
      return {
        settings: Object.keys(endpoints).length > 0 ? { endpoints } : undefined,
        warnings: [...warnings, ...(await faultsOfAuthorities(authorities))],
      };
    },
    units: async (context) => {
      const traces = await openTraces(tracing, { ...tracesOf(context), name, version });
      const journal = journalOf(context.flags);
      const { controller, unit } = unitOf(await driverOf(context), context, {
        tracer,
        traces,
        journal,
        webhooks,
        shared: stateOf(context),
      });
      const known = () => knownOf(controller.caches.secrets.store.list());
      context.pages.serve(journalPage({ journal, version, controller: name, clock: context.clock, known }));
      return [unit];
    },
  };
}

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
    volumeLimits: controller.volumeLimits,
    rechecks: controller.rechecks,
    yields: controller.yields,
    clock,
    alsoReported,
  });
}

/** If Node.js cannot use the file with certificate authorities, connections to the cloud fail. */
async function faultsOfAuthorities(file: string | undefined): Promise<readonly string[]> {
  if (!file) return [];
  const fault = await readFile(file, 'utf8').then(
    (text) => (text.includes('-----BEGIN CERTIFICATE-----') ? undefined : 'contains no PEM certificate'),
    (thrown: unknown) => `cannot be read (${errorText(thrown)})`,
  );
  return fault === undefined
    ? []
    : [
        `The file ${file} of NODE_EXTRA_CA_CERTS ${fault}, so its certificates are not trusted; correct the path or remove the variable`,
      ];
}

interface UnitParts {
  readonly tracer: DriverTracer | undefined;
  readonly traces: Traces | undefined;
  readonly journal: Journal;
  readonly webhooks: readonly HookWebhook[];
  readonly shared: FleetState;
}

const tracesOf = ({ clock, log, metrics }: BinaryContext<MachineFlags>) => ({ clock, log, meters: metrics.meters });

const probesOf = ({ controlAs, targetAs, controlAnsweredMs }: BinaryContext<MachineFlags>) => ({
  control: controlAs('reachability'),
  target: targetAs('reachability'),
  controlAnsweredMs,
});

function controlClusterOf(context: BinaryContext<MachineFlags>): ControlCluster {
  const { control, namespace, fence, clock, random, log } = context;
  // If the control cluster is also the target cluster, the Lease of the leader election is enough.
  const target = context.sameCluster || context.observe ? undefined : context.target;
  return new ControlCluster({ control, target, namespace, fence, clock, random, log });
}

function unitOf<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  context: BinaryContext<MachineFlags>,
  { tracer, traces, journal, webhooks, shared }: UnitParts,
): { readonly controller: MachineController; readonly unit: Unit } {
  const { control, target, namespace, clock, random, log, recorder, targetRecorder, metrics, runtime, flags } = context;
  const cluster = controlClusterOf(context);
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
    recorder: traces?.events(recorder) ?? recorder,
    targetRecorder,
    runtime,
    ...machineOptionsOf(flags),
    concurrency: flags['concurrent-syncs'],
    concurrencyByController: flags['concurrent-syncs-by-controller'],
    probes: probesOf(context),
    queueMetrics: metrics.queues,
    observeCall: driverMetrics.observe,
    observeApi: driverMetrics.observeApi,
    observeWait: driverMetrics.observeWait,
    interruptions: interruptionsOf(flags, metrics.meters, driver.name),
    hookWebhooks: { webhooks, connect: connectWebhook, observe: registerHookCallMetrics(metrics.meters) },
    tracer: tracer ?? tracing?.driver,
    traceIdOf: tracing?.idOf,
    traceDrain: tracing?.drain,
    owner: cluster.owner,
    fence: cluster.fence,
    region: context.region,
    ...shared,
    onDemand: context.cluster !== undefined,
    journal,
  });
  driverMetrics.reportStages(stagesOf(controller, metrics.meters, clock, tracing?.stage));
  if (tracing) controller.caches.machines.onChange(tracing.changed);
  const unit: Unit = {
    name: NAME,
    needs: [...[machines, machineClasses, secrets].map((definition) => ({ client: control, definition }))],
    informers: controller.informers,
    spares: controller.spares,
    quiet: controller.quiet,
    run: async (signal) => {
      await cluster.run(signal, (term) => controller.runControllers(term));
      await Promise.all([recorder, targetRecorder].map((each) => each?.flush()));
      await traces?.exporter.flush();
    },
  };
  return { controller, unit };
}

function interruptionsOf({ interruptions }: MachineFlagValues, meters: Meters, provider: string) {
  const observe = registerInterruptionMetrics(meters, provider);
  return interruptions ? { observe } : undefined;
}

/** Maximum number of connections of a process to its cloud. */
const CONNECTIONS = 64;

/** Creates the clock, random numbers and network of a process. Only the `main` of a provider calls this function. */
export const processContext = (): DriverContext => ({
  clock: realClock,
  random: secretRandom,
  connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
  rates: new AccountRates(realClock),
});

/**
 * Logs unhandled promise rejections in driver code. The end of the process would affect the machines of all classes, so
 * the process continues. A rejection may contain secrets, so the log contains only its type.
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
  readonly tracer?: DriverTracer;
  readonly provider?: ProviderSettings<F, Spec, Credentials>;
}

/**
 * Runs a provider's machine controller as this process; only the `main` of a provider calls this function.
 * - The process exits with 0 after a termination request, and with 1 if it cannot start or has lost its Lease.
 * - With the argument `schema`, the process prints the JSON Schema of the provider spec and the Secret, and exits. With
 * `schema --markdown`, the process prints the reference.
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
  // Without this flag of V8, the first list of 20,000 pods permanently enlarges the young generation of the heap. With
  // 20,000 pods, this flag of V8 reduces the memory from 233 MB to 170 MB.
  setFlagsFromString('--semi-space-growth-factor=1');
  const tracing = tracingSettings(process.env);
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  const parts = { tracer, tracing, provider, authorities, version };
  process.exit(await runBinary(machineControllerBinary(driver, parts)));
}
