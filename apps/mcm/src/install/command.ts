import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ClusterFlags } from '../cluster.ts';
import { inCluster, withCluster, withOutput } from '../cluster-options.ts';
import { eachFormatted, listFormatted, type OutputFormat, yamlStream } from '../output/format.ts';
import { applyObjects } from './apply.ts';
import { installSections } from './objects.ts';
import { DEFAULT_INSTALL, type InstallPart, type InstallSettings, imageOf } from './settings.ts';

type InstallFlags = ClusterFlags & {
  readonly dryRun?: boolean;
  readonly part: InstallPart;
  readonly with: readonly string[];
  readonly provider: string;
  readonly managerImage?: string;
  readonly controllerImage?: string;
  readonly replicas: number;
  readonly forceConflicts?: boolean;
  readonly output: OutputFormat;
};

const OPTIONAL = installSections(DEFAULT_INSTALL).flatMap(({ name, optional }) =>
  optional === true && !name.endsWith('-target') ? [name] : [],
);

/** What is asked for comes with its part in the cluster of the nodes. */
const isAskedFor = (name: string, asked: readonly string[]): boolean =>
  asked.some((each) => name === each || name === `${each}-target`);

function replicasOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError(`"${text}" is no count; write a whole number, such as 2`);
  return Number(text);
}

function settingsOf(flags: InstallFlags): InstallSettings {
  return {
    ...DEFAULT_INSTALL,
    namespace: flags.namespace ?? DEFAULT_INSTALL.namespace,
    provider: flags.provider,
    replicas: flags.replicas,
    images: {
      manager: flags.managerImage ?? DEFAULT_INSTALL.images.manager,
      controller: flags.controllerImage ?? imageOf(flags.provider),
    },
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

/** What the flags ask for. */
const objectsOf = (flags: InstallFlags): readonly object[] =>
  installSections(settingsOf(flags))
    .filter(({ cluster }) => flags.part === 'all' || flags.part === cluster)
    .filter(({ name, optional }) => optional !== true || isAskedFor(name, flags.with))
    .flatMap(({ objects }) => objects);

/** Adds `install`: everything of the pod of two containers, printed or applied. */
export function addInstall(program: Command, say: (line: string) => void, signal: () => AbortSignal): void {
  withOutput(
    withCluster(
      program
        .command('install')
        .description(
          'apply CRDs, roles, webhooks and the pod of both controllers to a cluster (server-side apply), or print them',
        )
        .option('--dry-run', 'print the objects and apply nothing; needs no cluster')
        .addOption(
          new Option(
            '--part <part>',
            'where nodes are in another cluster: control there where machines are, target in the other',
          )
            .choices(['all', 'control', 'target'])
            .default('all'),
        )
        .addOption(
          new Option('--with <name...>', 'what not every cluster can have or wants')
            .choices(OPTIONAL)
            .default([], 'none'),
        )
        .addOption(
          new Option('--provider <name>', 'whose machine controller')
            .choices(['aws', 'azure', 'gcp', 'local'])
            .default('local'),
        )
        .option('--manager-image <image>', 'image of the machine-controller-manager')
        .option('--controller-image <image>', 'image of the machine controller')
        .option('--replicas <count>', 'pods; one leads, the others stand by', replicasOf, DEFAULT_INSTALL.replicas)
        .option('--force-conflicts', 'take fields over that others have set'),
    ),
  ).action(async (flags: InstallFlags) => {
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
  });
}
