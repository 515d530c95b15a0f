import { readFileSync } from 'node:fs';
import {
  type ClusterConfig,
  createClient,
  createLogger,
  type KubeClient,
  loadKubeconfig,
  type Random,
  realClock,
  undiciTransport,
  withoutUndefined,
} from '@mcm/kube';
import { machineConfigCrds } from '@mcm/machine-config';
import { UserError } from '../command/errors.ts';
import { version } from '../command/version.ts';
import { type DataDir, type InstanceState, openDataDir } from '../instance/data-dir.ts';
import { isSettled } from '../screen/fleet.ts';
import { type Provider, providerFor, providerName } from './clouds/index.ts';
import { connectionsTo, simulateNodes } from './clouds/simulated-nodes.ts';
import { runComponentAgent } from './component-agent.ts';
import { configServerPlace, pointingTo } from './config-server.ts';
import { userDataFor } from './data/user-data.ts';
import { type FleetWatch, watchFleet } from './fleet-watch.ts';
import { CUSTOM_POOL, customClass, nodeLabelsOf, seedMachineConfig } from './machine-config.ts';
import type { UpOptions } from './options.ts';
import { Program } from './processes.ts';
import {
  cloudProgram,
  machineConfigProgram,
  machineControllerProgram,
  managerProgram,
  planeProgram,
} from './programs.ts';
import { type Reporter, reporterFor } from './reporter.ts';
import { FIRST_FLEET, installKinds, seedFleet, writeSecret } from './seed.ts';
import { askAddress, Silence } from './silence.ts';

/** The output and the signal of `mcm up`. When the signal is aborted, all programs stop. */
export interface UpIo {
  readonly stdout: NodeJS.WriteStream;
  /** Adapts a text to the terminal, for example removes colors. */
  readonly draw: (text: string) => string;
  readonly signal: AbortSignal;
  readonly random: Random;
}

/**
 * Starts the control plane, the cloud and both controllers. All programs run until the signal is aborted. With
 * `exitWhenReady`, all programs stop when the fleet has reached its desired state.
 * @throws {UserError} if the user can fix the problem.
 */
export async function up(given: UpOptions, io: UpIo): Promise<void> {
  // The command first verifies that the driver exists, because it must not create a data directory for a missing
  // driver.
  const provider = given.provider === undefined ? undefined : providerName(given.provider, process.cwd());
  const options = { ...given, provider };
  const data = openDataDir(options.dataDir);
  const startedAt = realClock.now().toISOString();
  data.write({ ...data.state, format: 1, pid: process.pid, startedAt, silent: undefined });
  const running: Program[] = [];
  const stopping = new AbortController();
  const abort = () => stopping.abort(io.signal.reason);
  io.signal.addEventListener('abort', abort, { once: true });
  const reporter = reporterFor(options, {
    stdout: io.stdout,
    draw: io.draw,
    title: `mcm ${version()}`,
    startedAt: realClock.now(),
    data,
    programs: running,
  });
  const start = async (spec: Program['spec']): Promise<string> => {
    const program = new Program(spec, { clock: realClock, onChange: () => reporter.changed() });
    running.push(program);
    return program.start(stopping.signal);
  };
  try {
    const fleet = await bringUp(options, { ...io, data, start, reporter, running, signal: stopping.signal });
    await untilSettled(fleet, reporter, stopping.signal);
    if (!stopping.signal.aborted) reporter.settled(fleet.view());
    if (!options.exitWhenReady) await aborted(stopping.signal);
  } catch (error) {
    if (!stopping.signal.aborted || error instanceof UserError) throw error;
  } finally {
    stopping.abort();
    io.signal.removeEventListener('abort', abort);
    reporter.stopping();
    await stopInOrder(running);
    reporter.end();
    data.release();
  }
}

interface BringUpIo extends UpIo {
  readonly data: DataDir;
  readonly start: (spec: Program['spec']) => Promise<string>;
  readonly reporter: Reporter;
  readonly running: readonly Program[];
}

async function bringUp(options: UpOptions, io: BringUpIo): Promise<FleetWatch> {
  const { data, start, reporter, signal } = io;
  const first = data.state?.seeded !== true;
  const provider = providerOf(options, data);
  const withConfigs = machineConfigOf(options, data, provider);
  // In the data directory of an older version, the pools do not refer to machines, so the token of a machine cannot
  // read a configuration.
  const boots =
    withConfigs && (first || data.state?.configPort !== undefined) ? await configServerPlace(data) : undefined;
  const apiUrl = await start(planeProgram(data, options.port ?? data.state?.apiPort ?? 0));
  const cloud = { address: await start(cloudProgram(data, provider, withConfigs ? ['--config-daemon'] : [])) };
  signal.throwIfAborted();

  const kubeconfig = await loadKubeconfig(data.file('kubeconfig'));
  const client = createClient({
    transport: undiciTransport(kubeconfig),
    userAgent: `mcm/${version()} (up)`,
    clock: realClock,
  });
  await installKinds(client, signal);
  if (withConfigs) await installKinds(client, signal, machineConfigCrds);
  const text = readFileSync(data.file('kubeconfig'), 'utf8');
  const userData = userDataFor(text, provider);
  const secretOf = (pool: string, credentials = provider.credentials(cloud)) => ({
    ...credentials,
    ...withoutUndefined({
      userData: !provider.keepsUserData ? (boots ? pointingTo(userData, boots, pool) : userData) : undefined,
    }),
  });
  await seedFleet(
    client,
    { machineClass: provider.machineClass, secretData: secretOf('worker') },
    { first, machines: options.machines, signal, nodeLabels: withConfigs ? nodeLabelsOf('worker') : undefined },
  );
  for (const [secret, credentials] of Object.entries(provider.otherLogins?.(cloud) ?? {}))
    await writeSecret(client, { secret, secretData: secretOf('worker', credentials) }, signal);
  const custom = customClass(provider.machineClass);
  if (boots) await writeSecret(client, { secret: custom.secret, secretData: secretOf(CUSTOM_POOL) }, signal);
  if (first && withConfigs) await seedMachineConfig(client, custom, signal);
  const state = {
    format: 1,
    pid: process.pid,
    startedAt: realClock.now().toISOString(),
    apiPort: portOf(apiUrl),
    seeded: true,
    provider: provider.name,
    machineConfig: withConfigs,
    configPort: boots?.port,
    cloudAddress: cloud.address,
  };
  data.write(state);

  const silence = silenceOf(provider, io);
  const fleet = watch(client, io, silence);
  if (provider.simulatesNodes === true) await startNodes(client, { kubeconfig, text }, io.random, signal);
  void runComponentAgent(client, {
    clock: realClock,
    random: io.random,
    log: createLogger({ level: 'silent' }),
    signal,
  });
  const [manager, machineController] = await Promise.all([
    start(managerProgram(data, FIRST_FLEET.namespace)),
    start(machineControllerProgram(data, FIRST_FLEET.namespace, provider, cloud)),
    ...(withConfigs ? [start(machineConfigProgram(data, FIRST_FLEET.namespace, boots))] : []),
    fleet.synced(signal),
  ]);
  const whole = { ...state, controllers: [manager, machineController] };
  data.write(whole);
  const health = () => fleet.view().controllers;
  const record = (silent: InstanceState['silent']) => data.write({ ...whole, silent });
  void silence.run({ health, record, onCheck: () => reporter.changed(), signal });
  reporter.follow(fleet);
  return fleet;
}

async function startNodes(
  client: KubeClient,
  { kubeconfig, text }: { readonly kubeconfig: ClusterConfig; readonly text: string },
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  await simulateNodes({
    client,
    namespace: FIRST_FLEET.namespace,
    connections: connectionsTo(kubeconfig),
    userData: userDataFor(text),
    clock: realClock,
    random,
    log: createLogger({ level: 'silent' }),
    signal,
  });
}

const silenceOf = ({ cloud }: Provider, { running }: BringUpIo): Silence =>
  new Silence({ clock: realClock, programs: running, cloud: cloud.name, ask: askAddress });

const watch = (client: KubeClient, io: BringUpIo, silence: Silence): FleetWatch =>
  watchFleet(client, FIRST_FLEET.namespace, {
    clock: realClock,
    random: io.random,
    log: createLogger({ level: 'silent' }),
    signal: io.signal,
    onChange: () => io.reporter.changed(),
    programs: () => silence.health(),
  });

/** Resolves when the fleet has reached its desired state, or when the signal is aborted. */
function untilSettled(fleet: FleetWatch, reporter: Reporter, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!signal.aborted && !isSettled(fleet.view())) return;
      stop();
      resolve();
    };
    const stop = reporter.onChange(look);
    signal.addEventListener('abort', look, { once: true });
    look();
  });
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

/**
 * Stops the controllers first, because they must release their Leases. The cloud stops after the controllers, and the
 * control plane stops last.
 */
async function stopInOrder(running: readonly Program[]): Promise<void> {
  const [plane, cloud, ...controllers] = running;
  await Promise.all(controllers.map((program) => program.stop()));
  await cloud?.stop();
  await plane?.stop();
}

/**
 * Returns the provider in the flag, or else the provider of the data directory.
 * @throws {UserError} if the data directory belongs to another provider
 */
function providerOf({ provider }: UpOptions, data: DataDir): Provider {
  const { state } = data;
  const before = state?.seeded ? (state.provider ?? 'local') : undefined;
  if (before !== undefined && provider !== undefined && provider !== before)
    throw new UserError(
      `${data.path} contains machines of provider ${before}, not of ${provider}: use another --data-dir`,
    );
  return providerFor(provider ?? before ?? 'local', data);
}

/**
 * Returns true if the instance uses machine configs.
 * @throws {UserError} if the flag contradicts the first start, or the provider does not support machine configs
 */
function machineConfigOf({ machineConfig }: UpOptions, data: DataDir, { name }: Provider): boolean {
  const before = data.state?.seeded ? (data.state.machineConfig ?? false) : undefined;
  if (before === false && machineConfig)
    throw new UserError(`${data.path} contains an instance without machine configs: use another --data-dir`);
  const wanted = machineConfig ?? before ?? false;
  if (wanted && name !== 'local')
    throw new UserError(
      `--machine-config requires --provider local, not ${name}: only local machines simulate the daemon`,
    );
  return wanted;
}

const portOf = (url: string): number => Number(new URL(url).port);
