import { type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import { UserError } from '../command/errors.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import { eachFormatted, listFormatted, type OutputFormat, yamlStream } from '../output/format.ts';
import { applyObjects } from './apply.ts';
import { installSections } from './objects/objects.ts';
import { DEFAULT_INSTALL, type InstallPart, type InstallSettings, imageOf, PROVIDERS } from './objects/settings.ts';

export type InstallFlags = ClusterFlags & {
  readonly dryRun?: boolean;
  readonly part: InstallPart;
  readonly with: readonly string[];
  readonly provider?: string;
  readonly managerImage?: string;
  readonly controllerImage?: string;
  readonly runbookBaseUrl?: string;
  readonly replicas: number;
  readonly forceConflicts?: boolean;
  readonly output: OutputFormat;
};

/** A requested part includes its part for the target cluster. */
const isAskedFor = (name: string, asked: readonly string[]): boolean =>
  asked.some((each) => name === each || name === `${each}-target`);

const isKnown = (provider: string): boolean => PROVIDERS.some((known) => known === provider);

/** The provider, which has no default. The roles of the target cluster do not depend on it. */
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

function settingsOf(flags: InstallFlags): InstallSettings {
  const provider = providerOf(flags);
  return {
    ...DEFAULT_INSTALL,
    namespace: flags.namespace ?? DEFAULT_INSTALL.namespace,
    provider,
    replicas: flags.replicas,
    images: {
      manager: flags.managerImage ?? DEFAULT_INSTALL.images.manager,
      controller: flags.controllerImage ?? imageOf(provider),
    },
    ...(flags.runbookBaseUrl === undefined ? {} : { runbookBaseUrl: flags.runbookBaseUrl }),
    kubeconfigs: {
      ...DEFAULT_INSTALL.kubeconfigs,
      ...(flags.part === 'control' ? { target: '/etc/mcm/target/kubeconfig' } : {}),
    },
    configDaemon: {
      ...DEFAULT_INSTALL.configDaemon,
      flags: flags.part === 'target' ? { 'control-kubeconfig': '/etc/mcm/control/kubeconfig' } : {},
    },
  };
}

/** The objects that the flags select. */
const objectsOf = (flags: InstallFlags): readonly object[] =>
  installSections(settingsOf(flags))
    .filter(({ cluster }) => flags.part === 'all' || flags.part === cluster)
    .filter(({ name, optional }) => optional !== true || isAskedFor(name, flags.with))
    .flatMap(({ objects }) => objects);

/** `mcm install`: prints the selected objects, or applies them. */
export async function install(
  flags: InstallFlags,
  { say, signal }: Pick<CommandSurroundings, 'say' | 'signal'>,
): Promise<void> {
  if (flags.dryRun === true) {
    const objects = objectsOf(flags);
    for (const line of listFormatted(flags.output, objects, () => yamlStream(objects))) say(line);
    return;
  }
  await inCluster(flags, 'install', async ({ client, namespace }) => {
    await applyObjects(client, objectsOf({ ...flags, namespace }), {
      force: flags.forceConflicts === true,
      signal: signal(),
      onApplied: (applied) => {
        for (const line of eachFormatted(flags.output, applied, `${applied.what} applied`)) say(line);
      },
    });
  });
}
