import { type Machine, type MachineDeployment, type MachineSet, machineDeployments } from '@mcm/api';
import { ignoreNotFound, type ResourceClient } from '@mcm/kube';
import { BY_CONTROLLER, type ControllerContext } from '../../control/caches.ts';
import { MachineWriter } from '../../set/replicas/machine-writer.ts';
import { SetWriter } from './set-writer.ts';

export class DeploymentAccess {
  readonly context: ControllerContext;
  readonly client: ResourceClient<MachineDeployment>;
  readonly sets: SetWriter;
  readonly machines: MachineWriter;

  constructor(context: ControllerContext) {
    this.context = context;
    this.client = context.client.resource(machineDeployments, context.namespace);
    this.sets = new SetWriter(context);
    this.machines = new MachineWriter(context);
  }

  machinesOf(set: MachineSet): readonly Machine[] {
    return this.context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
  }

  setsOf(deployment: MachineDeployment): readonly MachineSet[] {
    return this.context.sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
  }

  /** @throws KubeError for a conflict */
  async patch(
    deployment: MachineDeployment,
    metadata: object,
    signal: AbortSignal,
    spec?: object,
  ): Promise<MachineDeployment> {
    const { name, uid, resourceVersion } = deployment.metadata;
    const body = { metadata: { uid, resourceVersion, ...metadata }, spec };
    const written = await this.client.patch(name, { type: 'merge', body }, { signal });
    this.context.deployments.recordWrite(written);
    return written;
  }

  async putStatus(
    deployment: MachineDeployment,
    status: NonNullable<MachineDeployment['status']>,
    signal: AbortSignal,
  ): Promise<MachineDeployment | undefined> {
    const written = await ignoreNotFound(
      this.client.update({ ...deployment, status }, { subresource: 'status', signal }),
    );
    if (written !== undefined) this.context.deployments.recordWrite(written);
    return written;
  }
}
