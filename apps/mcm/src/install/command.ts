import { type Command, InvalidArgumentError, Option } from 'commander';
import { withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { DEFAULT_INSTALL, OPTIONAL_SECTIONS, PROVIDERS } from './objects/settings.ts';
import type { InstallFlags } from './run.ts';

function replicasOf(text: string): number {
  if (!/^\d{1,4}$/.test(text))
    throw new InvalidArgumentError(`"${text}" is not a count; write a whole number, such as 2`);
  return Number(text);
}

export function addInstall(program: Command, environment: Pick<CommandEnvironment, 'say' | 'signal'>): void {
  withOutput(
    withCluster(
      program
        .command('install')
        .description('apply CRDs, roles, webhooks and the pods of the controllers to a cluster, or print these objects')
        .option('--dry-run', 'print the objects and apply nothing; needs no cluster')
        .addOption(
          new Option(
            '--part <part>',
            'install only the objects of one cluster. "control": the cluster with the machine objects. "target": the cluster with the nodes',
          )
            .choices(['all', 'control', 'target'])
            .default('all'),
        )
        .addOption(new Option('--with <name...>', 'optional parts').choices(OPTIONAL_SECTIONS).default([], 'none'))
        .addOption(
          new Option(
            '--provider <name>',
            `provider of the machine controller: ${PROVIDERS.join(', ')}, or another one with --controller-image; needed unless --part=target`,
          ),
        )
        .option('--manager-image <image>', 'image of the machine-controller-manager')
        .option('--controller-image <image>', 'image of the machine controller')
        .option(
          '--manager-flag <name=value...>',
          'flags of the machine-controller-manager, such as safety-up=3: docs/reference/flags.md',
          [],
        )
        .option(
          '--controller-flag <name=value...>',
          'flags of the machine controller, such as machine-drain-timeout=1h: docs/reference/flags.md',
          [],
        )
        .option(
          '--runbook-base-url <url>',
          'address of the folder that contains docs/runbooks, for the links in the alerts that `--with monitoring` installs',
        )
        .option(
          '--fleet-clusters <labels>',
          'for --with fleet: labels of Clusters of Cluster API; the fleet serves these Clusters and no labelled namespaces',
        )
        .option(
          '--fleet-cluster-profiles <labels>',
          'for --with fleet: labels of ClusterProfiles; the fleet serves these ClusterProfiles and no labelled namespaces',
        )
        .option(
          '--replicas <count>',
          'number of pods; one pod is the leader, and the other pods are on standby',
          replicasOf,
          DEFAULT_INSTALL.replicas,
        )
        .option(
          '--toleration <taint...>',
          'taints that the pods tolerate: key, key:effect or key=value:effect, such as node-role.kubernetes.io/control-plane:NoSchedule',
        )
        .option('--node-selector <label=value...>', 'labels of the nodes on which the pods run')
        .option(
          '--pod-label <name=value...>',
          'additional labels of the pods, such as azure.workload.identity/use=true',
        )
        .option(
          '--service-account-annotation <name=value...>',
          'annotations of the ServiceAccount of the machine controller, for a workload identity of the cloud',
        )
        .option('--no-wait', 'do not wait until the pods are ready')
        .option('--timeout <duration>', 'longest time to wait for the pods', '2m')
        .option('--force-conflicts', 'overwrite fields of other field managers'),
    ),
  ).action(async (flags: InstallFlags) => {
    const { install } = await import('./run.ts');
    await install(flags, environment);
  });
}
