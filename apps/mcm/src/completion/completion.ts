import type { Command } from 'commander';
import { acceptsFiles, isNamed, takesNames } from './objects.ts';
import { type Flag, type Place, placesOf } from './places.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The texts that a shell offers. As in kubectl, the shell offers flags only after a `-`. */
interface Offered {
  readonly words: string;
  readonly flags: string;
}

const offered = ({ commands, values, flags }: Place): Offered => ({
  words: [...commands, ...values].join(' '),
  flags: flags.flatMap(({ names }) => names.slice(0, 1)).join(' '),
});

const paths = (places: readonly Place[]): string[] => places.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`]));

interface Offers {
  readonly choices: (words: string) => string;
  readonly files: string;
  readonly names: string;
  /** If no object name matches, the shell offers file names. */
  readonly namesOrFiles: string;
}

/** Returns the branches of a shell `case` for the values of flags. */
const valueCases = (places: readonly Place[], { choices, files, names: named, namesOrFiles }: Offers): string =>
  places
    .flatMap(({ path, flags }) =>
      flags.flatMap(({ names, values }) => {
        if (values === undefined) return [];
        const pattern = names.map((name) => `"${path} ${name}"`).join('|');
        const offer = !isNamed(names) ? files : names.every(acceptsFiles) ? namesOrFiles : named;
        return [`    ${pattern}) ${values.length > 0 ? choices(values.join(' ')) : offer}; return ;;`];
      }),
    )
    .join('\n');

const placeCases = (places: readonly Place[], offer: (offered: Offered, place: Place) => string): string =>
  places.map((place) => `    "${place.path}") ${offer(offered(place), place)} ;;`).join('\n');

/*
 * Returns the completion script for bash. Bash splits words at "=", so the completion script joins `--flag`, `=` and
 * `VALUE`.
 */
const bash = (name: string, places: readonly Place[]): string =>
  `# ${name} completion for bash. Put this line into ~/.bashrc: source <(${name} completion bash)
_${name}_names() { ${name} __complete "\${given[@]}" 2>/dev/null | grep -v '^:'; }
_${name}_files() { compopt -o default 2>/dev/null; }
_${name}() {
  local at="" word joins="" current flag words="" given=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ -n $joins || ( $word == "=" && \${#given[@]} -gt 0 && \${given[\${#given[@]}-1]} == -* ) ]]; then
      given[\${#given[@]}-1]+="$word"
      if [[ $word == "=" ]]; then joins=1; else joins=""; fi
    else given+=("$word"); fi
  done
  current="\${given[\${#given[@]}-1]}"
  for word in "\${given[@]:0:\${#given[@]}-1}"; do
    case "\${at:+$at }$word" in ${paths(places).join('|')}) at="\${at:+$at }$word" ;; esac
    flag="$word"
  done
  if [[ $current == -*=* ]]; then flag="\${current%%=*}"; current="\${current#*=}"; fi
  COMPREPLY=()
  case "$at $flag" in
${valueCases(places, { choices: (words) => `COMPREPLY=($(compgen -W "${words}" -- "$current"))`, files: `_${name}_files`, names: `COMPREPLY=($(_${name}_names))`, namesOrFiles: `COMPREPLY=($(_${name}_names)); _${name}_files` })}
  esac
  case "$at" in
${placeCases(places, ({ words, flags }, { path, files }) => `if [[ $current == -* ]]; then words="${flags}"; else words="${words}${takesNames(path) ? ` $(_${name}_names)` : ''}"${files ? `; _${name}_files` : ''}; fi`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
if type compopt >/dev/null 2>&1; then complete -F _${name} ${name}; else complete -o default -F _${name} ${name}; fi
`;

const zsh = (name: string, places: readonly Place[]): string =>
  `#compdef ${name}
# ${name} completion for zsh. Save it as _${name} in a folder of $fpath, or run after compinit: source <(${name} completion zsh)
_${name}_names() { compadd -- \${(f)"$(${name} __complete "\${given[@]}" 2>/dev/null | grep -v '^:')"}; }
_${name}() {
  local at="" word flag="\${words[CURRENT-1]}"
  local given=("\${(@)words[2,CURRENT]}")
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in ${paths(places).join('|')}) at="\${at:+$at }$word" ;; esac
  done
  if [[ $words[CURRENT] == -*=* ]]; then
    flag="\${words[CURRENT]%%=*}"
    compset -P '*='
  fi
  case "$at $flag" in
${valueCases(places, { choices: (words) => `compadd -- ${words}`, files: '_files', names: `_${name}_names`, namesOrFiles: `_${name}_names || _files` })}
  esac
  case "$at" in
${placeCases(places, ({ words, flags }, { path, files }) => `if [[ $words[CURRENT] == -* ]]; then compadd -- ${flags}; else ${[`compadd -- ${words}`, ...(files ? ['_files'] : []), ...(takesNames(path) ? [`_${name}_names`] : [])].join('; ')}; fi`)}
  esac
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

function fishPlace(name: string, { path, commands, values, files, flags }: Place, when: string): string[] {
  const words = [...commands, ...values].map((word) => `complete -c ${name} ${when} -f -a ${word}`);
  const names = takesNames(path) ? [`complete -c ${name} ${when} -f -a '${fishNames(name)}'`] : [];
  const noFiles = files ? [] : [`complete -c ${name} ${when} -f`];
  return [
    ...words,
    ...names,
    ...noFiles,
    ...flags.map((flag) => `complete -c ${name} ${when} ${fishFlag(name, flag)}`),
  ];
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
