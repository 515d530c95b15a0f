import { parseDurationMs } from '@mcm/api';
import { realClock, withoutUndefined } from '@mcm/kube';
import { type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { eachFormatted, listFormatted, type OutputFormat, yamlStream } from '../output/format.ts';
import { applyObjects, checkObjects } from './apply.ts';
import { controllerFlagsOf, managerFlagsOf } from './container-flags.ts';
import { ensureNamespace } from './namespace.ts';
import { isConfigMonitor } from './objects/monitoring.ts';
import { installSections } from './objects/objects.ts';
import {
  DEFAULT_INSTALL,
  FLEET_APP,
  type InstallPart,
  type InstallSettings,
  imageOf,
  NOT_IN_FLEET,
  PROVIDERS,
  separated,
} from './objects/settings.ts';
import { type PodFlags, withPodOptions } from './pod-options.ts';
import { hasPods, untilReady } from './ready.ts';

export type InstallFlags = ClusterFlags &
  PodFlags & {
    readonly dryRun?: boolean;
    readonly part: InstallPart;
    readonly with: readonly string[];
    readonly provider?: string;
    readonly managerImage?: string;
    readonly controllerImage?: string;
    readonly managerFlag: readonly string[];
    readonly controllerFlag: readonly string[];
    readonly runbookBaseUrl?: string;
    /** The label selector of the Clusters of Cluster API that the fleet serves. */
    readonly fleetClusters?: string;
    /** The label selector of the ClusterProfiles that the fleet serves. */
    readonly fleetClusterProfiles?: string;
    readonly replicas: number;
    readonly forceConflicts?: boolean;
    readonly wait: boolean;
    readonly timeout: string;
    readonly output: OutputFormat;
  };

/** Returns true if a user has requested an optional section. */
const isAskedFor = (name: string, asked: readonly string[]): boolean =>
  asked.some((each) => name === each || name === `${each}-target`);

const isFleet = ({ with: parts, part }: InstallFlags): boolean => parts.includes('fleet') && part !== 'target';

const isKnown = (provider: string): boolean => PROVIDERS.some((known) => known === provider);

function providerOf({ provider, part, controllerImage }: InstallFlags): string {
  const others = `${PROVIDERS.join(', ')}, or the name of another provider with --controller-image`;
  if (provider === undefined) {
    if (part === 'target') return DEFAULT_INSTALL.provider;
    throw new UserError(`--provider must be set: ${others}`);
  }
  if (!/^[a-z][a-z0-9-]*$/.test(provider)) throw new UserError(`--provider must be a lower-case name: ${others}`);
  if (!isKnown(provider) && controllerImage === undefined)
    throw new UserError(`--controller-image must be set for the provider ${provider}`);
  return provider;
}

/** Returns the source of the clusters of a fleet. By default, a fleet serves labelled namespaces. */
function sourceOf(flags: InstallFlags): Pick<InstallSettings, 'fleetSource'> {
  const given = [
    { flag: 'fleet-clusters', selector: flags.fleetClusters },
    { flag: 'fleet-cluster-profiles', selector: flags.fleetClusterProfiles },
  ] as const;
  const [one, other] = given.flatMap(({ flag, selector }) => (selector === undefined ? [] : [{ flag, selector }]));
  if (one === undefined) return {};
  if (!isFleet(flags)) throw new UserError(`--${one.flag} needs --with fleet`);
  if (other !== undefined)
    throw new UserError(`--${one.flag} and --${other.flag} cannot be combined; set only one of the flags`);
  if (one.selector === '') throw new UserError(`--${one.flag} must be a label selector, such as mcm-fleet=aws`);
  return { fleetSource: one };
}

async function settingsOf(flags: InstallFlags): Promise<InstallSettings> {
  if (isFleet(flags) && flags.with.includes('separate-controller'))
    throw new UserError(
      '--with must not contain both fleet and separate-controller: a fleet runs both programs in each pod',
    );
  const provider = providerOf(flags);
  const settings = {
    ...DEFAULT_INSTALL,
    namespace: flags.namespace ?? DEFAULT_INSTALL.namespace,
    provider,
    fleetNamespaces: `${FLEET_APP}=${provider}`,
    ...sourceOf(flags),
    replicas: flags.replicas,
    images: {
      manager: flags.managerImage ?? DEFAULT_INSTALL.images.manager,
      controller: flags.controllerImage ?? imageOf(provider),
    },
    flags: {
      manager: await managerFlagsOf(flags.managerFlag),
      controller: await controllerFlagsOf(flags.controllerFlag, provider),
    },
    ...withoutUndefined({ runbookBaseUrl: flags.runbookBaseUrl }),
    kubeconfigs: {
      ...DEFAULT_INSTALL.kubeconfigs,
      ...withoutUndefined({ target: flags.part === 'control' ? '/etc/mcm/target/kubeconfig' : undefined }),
    },
    configDaemon: {
      ...DEFAULT_INSTALL.configDaemon,
      flags: flags.part === 'target' ? { 'control-kubeconfig': '/etc/mcm/control/kubeconfig' } : {},
    },
  };
  return flags.with.includes('separate-controller') ? separated(settings) : settings;
}

async function objectsOf(flags: InstallFlags): Promise<readonly object[]> {
  const settings = await settingsOf(flags);
  const objects = installSections(settings)
    .filter(({ cluster }) => flags.part === 'all' || flags.part === cluster)
    .filter(({ name, optional }) => optional !== true || isAskedFor(name, flags.with))
    .filter(({ name }) => !isFleet(flags) || !NOT_IN_FLEET.includes(name))
    .flatMap(({ objects }) => objects)
    .filter((object) => flags.with.includes('machine-config') || !isConfigMonitor(object));
  return withPodOptions(objects, flags, isFleet(flags) ? settings.accounts.fleet : settings.accounts.controller);
}

export async function install(
  flags: InstallFlags,
  { say, signal }: Pick<CommandEnvironment, 'say' | 'signal'>,
): Promise<void> {
  if (flags.dryRun === true) {
    const objects = await objectsOf(flags);
    for (const line of listFormatted(flags.output, objects, () => yamlStream(objects))) say(line);
    return;
  }
  const timeoutMs = parseDurationMs(flags.timeout);
  if (timeoutMs === undefined || timeoutMs < 0)
    throw new UserError(`--timeout must be a duration of 0 or more, such as 90s or 5m, not "${flags.timeout}"`);
  await inCluster(flags, 'install', async ({ client, namespace }) => {
    const until = signal();
    const objects = await objectsOf({ ...flags, namespace });
    const tell = (applied: object, text: string): void => {
      for (const line of eachFormatted(flags.output, applied, text)) say(line);
    };
    const isNew = await ensureNamespace(client, namespace, until);
    if (isNew) tell({ what: `namespace/${namespace}` }, `namespace/${namespace} created`);
    const force = flags.forceConflicts === true;
    const createdNamespace = isNew ? namespace : undefined;
    await checkObjects(client, objects, { force, signal: until, createdNamespace });
    await applyObjects(client, objects, {
      force,
      signal: until,
      onApplied: (applied) => tell(applied, `${applied.what} applied`),
    });
    if (!flags.wait) return;
    const reasons = await untilReady(client, objects, { clock: realClock, signal: until, timeoutMs });
    if (reasons.length > 0)
      throw new UserError(
        [
          `not ready after ${flags.timeout}; all objects are applied, and the pods can still become ready`,
          ...reasons,
        ].join('\n'),
      );
    tell(
      { ready: true },
      hasPods(objects) ? 'all pods are ready' : 'all objects are applied; none of them creates pods',
    );
  });
}
