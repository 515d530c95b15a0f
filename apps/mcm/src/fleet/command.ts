import type { Command } from 'commander';
import { withCluster, withOutput, withWatch } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import type { ClustersFlags, FleetFlags, FleetStatusFlags, MoveFlags } from './run.ts';

export function addFleet(program: Command, environment: CommandEnvironment): void {
  const fleet = program.command('fleet').description('list and drain replicas of a fleet, and move clusters');
  const scoped = (command: Command): Command => withOutput(withCluster(command));
  withWatch(scoped(fleet.command('status').description('list the replicas with their clusters'))).action(
    async (flags: FleetStatusFlags) => {
      const { status } = await import('./run.ts');
      await status(flags, environment);
    },
  );
  withWatch(scoped(fleet.command('clusters').description('list the clusters with their replicas; problems come first')))
    .option(
      '-l, --selector <labels>',
      'labels of the namespaces, Clusters or ClusterProfiles (default: the labels in the peer Leases, or mcm-fleet)',
    )
    .action(async (flags: ClustersFlags) => {
      const { clusters } = await import('./run.ts');
      await clusters(flags, environment);
    });
  for (const [name, drained, about] of [
    ['drain', true, 'move all clusters of a replica to the other replicas'],
    ['undrain', false, 'end the drain of a replica'],
  ] as const)
    scoped(fleet.command(`${name} <replica>`).description(about)).action(async (replica: string, flags: FleetFlags) => {
      const { setDrain } = await import('./run.ts');
      await setDrain(replica, drained, flags, environment);
    });
  scoped(
    fleet
      .command('weight <replica> <weight>')
      .description('set the weight of a replica from 0 to 1000; default: the flag --fleet-weight applies'),
  ).action(async (replica: string, weight: string, flags: FleetFlags) => {
    const { changeWeight } = await import('./run.ts');
    await changeWeight(replica, weight, flags, environment);
  });
  scoped(fleet.command('move <cluster>').description('assign a cluster to a replica'))
    .option(
      '--to <replica>',
      'replica that must serve the cluster (default: the replica that the hash of the name selects)',
    )
    .action(async (cluster: string, flags: MoveFlags) => {
      const { moveCluster } = await import('./run.ts');
      await moveCluster(cluster, flags, environment);
    });
}
