import { useLoaded } from './detail.ts';

const KINDS: Readonly<Record<string, string>> = {
  machine: 'Machine',
  machineset: 'MachineSet',
  machinedeployment: 'MachineDeployment',
  machineclass: 'MachineClass',
  node: 'Node',
  machineconfigpool: 'MachineConfigPool',
};

const same = (text: string): string => text;

export function YamlPage({ kind, ns, name }: { kind: string; ns: string; name: string }) {
  const { data, problem } = useLoaded(`/api/yaml/${kind}/${ns}/${name}`, 0, same);
  return (
    <>
      <p class="trail">
        <a href="/">Fleet</a> / {KINDS[kind] ?? kind} as YAML
      </p>
      <h1 class="break">{name}</h1>
      {problem !== undefined && <p class="gap">{problem}</p>}
      {data === undefined && problem === undefined && <p class="empty">Loading …</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area needs the focus for the arrow keys */}
      {data !== undefined && <pre tabIndex={0}>{data}</pre>}
    </>
  );
}
