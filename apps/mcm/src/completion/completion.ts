import type { Command } from 'commander';
import { isNamed, takesNames } from './objects.ts';
import { type Flag, type Place, placesOf } from './places.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The words that a shell offers as completions. As in kubectl, the shell offers long flags only after a `-`. */
interface Offered {
  readonly words: string;
  readonly flags: string;
}

const offered = ({ commands, values, flags }: Place): Offered => ({
  words: [...commands, ...values].join(' '),
  flags: flags.flatMap(({ names }) => names.slice(0, 1)).join(' '),
});

const paths = (places: readonly Place[]): string[] => places.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`]));

/**
 * Shell code that offers completions of three types: words of a list, file names, and names that `mcm __complete`
 * finds.
 */
interface Offers {
  readonly choices: (words: string) => string;
  readonly anything: string;
  readonly names: string;
}

/**
 * Returns the branches of a shell `case` for the values of flags. Each pattern contains the command and the flag before
 * the value.
 */
const valueCases = (places: readonly Place[], { choices, anything, names: named }: Offers): string =>
  places
    .flatMap(({ path, flags }) =>
      flags.flatMap(({ names, values }) => {
        if (values === undefined) return [];
        const pattern = names.map((name) => `"${path} ${name}"`).join('|');
        const offer = isNamed(names) ? named : anything;
        return [`    ${pattern}) ${values.length > 0 ? choices(values.join(' ')) : offer}; return ;;`];
      }),
    )
    .join('\n');

const placeCases = (places: readonly Place[], offer: (offered: Offered, named: boolean) => string): string =>
  places.map((place) => `    "${place.path}") ${offer(offered(place), takesNames(place.path))} ;;`).join('\n');

const bash = (name: string, places: readonly Place[]): string =>
  `# ${name} completion for bash. Put this line into ~/.bashrc: source <(${name} completion bash)
_${name}_names() { ${name} __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | grep -v '^:'; }
_${name}() {
  local at="" word current="\${COMP_WORDS[COMP_CWORD]}" words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in ${paths(places).join('|')}) at="\${at:+$at }$word" ;; esac
  done
  COMPREPLY=()
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(places, { choices: (words) => `COMPREPLY=($(compgen -W "${words}" -- "$current"))`, anything: ':', names: `COMPREPLY=($(_${name}_names))` })}
  esac
  case "$at" in
${placeCases(places, ({ words, flags }, named) => `if [[ $current == -* ]]; then words="${flags}"; else words="${words}${named ? ` $(_${name}_names)` : ''}"; fi`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`;

const zsh = (name: string, places: readonly Place[]): string =>
  `#compdef ${name}
# ${name} completion for zsh. Save it as _${name} in a folder of $fpath, or run after compinit: source <(${name} completion zsh)
_${name}_names() { ${name} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | grep -v '^:'; }
_${name}() {
  local at="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in ${paths(places).join('|')}) at="\${at:+$at }$word" ;; esac
  done
  case "$at \${words[CURRENT-1]}" in
${valueCases(places, { choices: (words) => `compadd -- ${words}`, anything: '_files', names: `compadd -- \${(f)"$(_${name}_names)"}` })}
  esac
  case "$at" in
${placeCases(places, ({ words, flags }, named) => `if [[ $words[CURRENT] == -* ]]; then compadd -- ${flags}; else compadd -- ${words}${named ? ` \${(f)"$(_${name}_names)"}` : ''}; fi`)}
  esac || _files
}
if [ "\${funcstack[1]}" = "_${name}" ]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;

const fish = (name: string, places: readonly Place[]): string => {
  const at = `__${name}_at`;
  return [
    `# ${name} completion for fish; ${name} completion fish > ~/.config/fish/completions/${name}.fish`,
    `function ${at}`,
    `  set -l at ''`,
    '  for word in (commandline -opc)[2..-1]',
    `    set -l next (string trim -- "$at $word")`,
    `    contains -- $next ${paths(places).join(' ')}; and set at $next`,
    '  end',
    `  test "$at" = "$argv"`,
    'end',
    ...places.flatMap((place) => fishPlace(name, place, `-n '${at} ${place.path}'`)),
    '',
  ].join('\n');
};

const fishNames = (name: string): string =>
  `(${name} __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")`;

function fishPlace(name: string, { path, commands, values, flags }: Place, when: string): string[] {
  const words = [...commands, ...values].map((word) => `complete -c ${name} ${when} -f -a ${word}`);
  const names = takesNames(path) ? [`complete -c ${name} ${when} -f -a '${fishNames(name)}'`] : [];
  return [...words, ...names, ...flags.map((flag) => `complete -c ${name} ${when} ${fishFlag(name, flag)}`)];
}

function fishFlag(name: string, { names, values }: Flag): string {
  const written = names.map((one) => (one.startsWith('--') ? `-l ${one.slice(2)}` : `-s ${one.slice(1)}`)).join(' ');
  if (values === undefined) return written;
  if (values.length > 0) return `${written} -x -a '${values.join(' ')}'`;
  return isNamed(names) ? `${written} -x -a '${fishNames(name)}'` : `${written} -r`;
}

export function completionScript(program: Command, shell: Shell): string {
  return { bash, zsh, fish }[shell](program.name(), placesOf(program, []));
}
