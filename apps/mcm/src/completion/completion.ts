import type { Command } from 'commander';

/** The shells that there is a script for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What may follow a command: `rollout status` → its flags and subcommands. */
interface Words {
  readonly path: string;
  readonly words: readonly string[];
}

function wordsOf(command: Command, path: readonly string[]): Words[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const flags = help.visibleOptions(command).flatMap(({ long }) => long ?? []);
  return [
    { path: path.join(' '), words: [...below.map((child) => child.name()), ...flags] },
    ...below.flatMap((child) => wordsOf(child, [...path, child.name()])),
  ];
}

const bash = (
  name: string,
  table: readonly Words[],
): string => `# ${name} completion for bash; put into ~/.bashrc: source <(${name} completion bash)
_${name}() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  local words
  case "$path" in
${table
  .toReversed()
  .map(({ path, words }) => `    ${path === '' ? '*' : `"${path}"*`}) words="${words.join(' ')}" ;;`)
  .join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`;

const zsh = (name: string, table: readonly Words[]): string =>
  `#compdef ${name}\nautoload -U +X bashcompinit && bashcompinit\n${bash(name, table).replace(/^.*\n/, '')}`;

const fish = (name: string, table: readonly Words[]): string =>
  [
    `# ${name} completion for fish; ${name} completion fish > ~/.config/fish/completions/${name}.fish`,
    ...table.flatMap(({ path, words }) => {
      const parents =
        path === '' ? ['__fish_use_subcommand'] : path.split(' ').map((part) => `__fish_seen_subcommand_from ${part}`);
      const when = `-n '${parents.join('; and ')}'`;
      return words.map((word) =>
        word.startsWith('--')
          ? `complete -c ${name} ${when} -l ${word.slice(2)}`
          : `complete -c ${name} ${when} -f -a ${word}`,
      );
    }),
    '',
  ].join('\n');

/** A script that completes commands and flags of a program in a shell. */
export function completionScript(program: Command, shell: Shell): string {
  const table = wordsOf(program, []);
  return { bash, zsh, fish }[shell](program.name(), table);
}
