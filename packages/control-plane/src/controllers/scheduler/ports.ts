import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, text } from '../../apimachinery/objects/plain.ts';

const ANY = '0.0.0.0';

interface HostPort {
  readonly ip: string;
  readonly port: string;
}

/**
 * Returns a map key for the ports and requests of a pod. If only the containers determine them, the key is the list of
 * containers. Otherwise, the key is the pod. Pods with equal containers share one list, so a map with these keys is
 * small.
 */
export function usagePartOf(pod: ApiObject): object {
  const { containers, initContainers, overhead } = look(pod, 'spec');
  const isSimple = Array.isArray(containers) && initContainers === undefined && overhead === undefined;
  return isSimple ? containers : pod;
}

const known = new WeakMap<object, readonly HostPort[]>();

export function hostPortsOf(pod: ApiObject): readonly HostPort[] {
  const key = usagePartOf(pod);
  const found = known.get(key);
  if (found !== undefined) return found;
  const spec = look(pod, 'spec');
  const sidecars = items(spec, 'initContainers').filter(({ restartPolicy }) => restartPolicy === 'Always');
  const ports = [...items(spec, 'containers'), ...sidecars].flatMap((container) =>
    items(container, 'ports')
      .filter((port) => (number(port, 'hostPort') ?? 0) > 0)
      .map((port) => ({
        ip: text(port, 'hostIP') || ANY,
        port: `${text(port, 'protocol') || 'TCP'}/${port.hostPort}`,
      })),
  );
  known.set(key, ports);
  return ports;
}

export class HostPorts {
  /** For each node and host port, the number of pods on each address. */
  readonly #taken = new Map<string, Map<string, number>>();

  put(node: string, ports: readonly HostPort[], sign: 1 | -1): void {
    for (const { ip, port } of ports) {
      const key = `${node} ${port}`;
      const byAddress = this.#taken.get(key) ?? new Map<string, number>();
      const count = (byAddress.get(ip) ?? 0) + sign;
      if (count > 0) byAddress.set(ip, count);
      else byAddress.delete(ip);
      if (byAddress.size > 0) this.#taken.set(key, byAddress);
      else this.#taken.delete(key);
    }
  }

  /** A port on all addresses conflicts with an equal port on any address. */
  areFree(node: string, ports: readonly HostPort[]): boolean {
    return ports.every(({ ip, port }) => {
      const byAddress = this.#taken.get(`${node} ${port}`);
      if (byAddress === undefined) return true;
      return ip === ANY ? byAddress.size === 0 : !byAddress.has(ip) && !byAddress.has(ANY);
    });
  }
}
