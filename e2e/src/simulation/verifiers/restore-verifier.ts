import { nodes, type Transport } from '@mcm/kube';
import type { World } from '../world/world.ts';

/** Watches over the VMs of a world whose server forgets: none goes undrained, and no two have one name at a time. */
export class RestoreVerifier {
  #world: World | undefined;
  /** Names of VMs that run and that the server may have forgotten: they go when a user says so, or when they are drained. */
  readonly #forgotten = new Set<string>();

  /** For `WorldOptions.wrapCloud`. */
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

  /** The server was just restored: of these VMs it does not know. */
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
    if (!node && this.#forgotten.has(vm.name)) world.reporter.violate(`VM ${vm.name} goes, whose Node was forgotten`);
    if (ready && !node?.spec.unschedulable) world.reporter.violate(`VM ${vm.name} goes undrained`);
  }

  #compareNames(): void {
    const seen = new Set<string>();
    for (const { name, state } of this.#world?.cloud.instances.list() ?? []) {
      if (state === 'terminated') continue;
      if (seen.has(name)) this.#world?.reporter.violate(`two VMs are called ${name}`);
      seen.add(name);
    }
  }
}
