import { nodes, type Transport } from '@mcm/kube';
import type { World } from '../world/world.ts';

/** Verifies the VMs of a restored cluster: each VM is drained before its deletion, and VMs have different names. */
export class RestoreVerifier {
  #world: World | undefined;
  readonly #forgotten = new Set<string>();

  readonly wrap =
    (transport: Transport): Transport =>
    async (request) => {
      if (request.method === 'DELETE') await this.#verify(/instances\/([^/?]+)/.exec(request.path)?.[1] ?? '');
      const answer = await transport(request);
      this.#compareNames();
      return answer;
    };

  watch(world: World): void {
    this.#world = world;
  }

  /** Records VMs that an operator allows mcm to delete. */
  releases(names: readonly string[]): void {
    for (const name of names) this.#forgotten.delete(name);
  }

  /** Records VMs that have a Node but are missing in the backup. */
  forgets(names: readonly string[]): void {
    for (const name of names) this.#forgotten.add(name);
  }

  async #verify(id: string): Promise<void> {
    const world = this.#world;
    const vm = [...(world?.cloud.instances.list() ?? [])].find((each) => each.id === id && each.state === 'running');
    if (!world || !vm) return;
    const { items } = await world.admin.resource(nodes).list();
    const node = items.find(({ metadata }) => metadata.name === vm.name);
    const ready = node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    // A Machine with the name of the VM has adopted the VM, so mcm may delete the Machine and the VM.
    const hasMachine = (await world.machines()).some(({ metadata }) => metadata.name === vm.name);
    if (!node && !hasMachine && this.#forgotten.has(vm.name))
      world.reporter.violate(
        `the restored backup lacks the Node of VM ${vm.name}, but mcm deletes the VM without a drain`,
      );
    if (ready && !node?.spec.unschedulable) world.reporter.violate(`mcm deletes VM ${vm.name} without a drain`);
  }

  #compareNames(): void {
    const seen = new Set<string>();
    for (const { name, state } of this.#world?.cloud.instances.list() ?? []) {
      if (state === 'terminated') continue;
      if (seen.has(name)) this.#world?.reporter.violate(`two VMs have the name ${name}`);
      seen.add(name);
    }
  }
}
