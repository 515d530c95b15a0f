import type { Signal } from '@preact/signals';
import type { MachineRow } from '../../src/wire.ts';
import { LEVEL_NAMES, machineHref } from '../format.ts';
import { Name, Shape } from '../parts/marks.tsx';

/** The size of tiles, by the number of shown machines. */
export type Density = 'cards' | 'large' | 'medium' | 'small' | 'tiny';

export function densityOf(machines: number): Density {
  if (machines <= 24) return 'cards';
  if (machines <= 300) return 'large';
  if (machines <= 1_500) return 'medium';
  return machines <= 6_000 ? 'small' : 'tiny';
}

const labelOf = ({ name, level, why }: MachineRow): string =>
  `${name}: ${LEVEL_NAMES[level]}${why === '' ? '' : `, ${why}`}`;

/** The tile of one machine. After a change of its row, only the tile of this machine is drawn again. */
function Tile({ row, card, tabbable }: { row: Signal<MachineRow>; card: boolean; tabbable: boolean }) {
  const { key, name, level, why, phase } = row.value;
  return (
    <a
      class={`tile ${level}`}
      href={machineHref(key)}
      data-key={key}
      tabIndex={tabbable ? 0 : -1}
      aria-label={card ? undefined : labelOf(row.value)}
    >
      {card && (
        <>
          <Shape level={level} />
          <span class="tile-text">
            <span class="tile-name">
              <Name>{name}</Name>
              <span class="hidden">: {LEVEL_NAMES[level]}, </span>
            </span>
            <span class="tile-why">{why === '' ? phase : why}</span>
          </span>
        </>
      )}
    </a>
  );
}

/** Finds the tile above or below: in the next visual row, the tile with the nearest left edge. */
function vertical(tiles: readonly HTMLElement[], from: HTMLElement, down: boolean): HTMLElement | undefined {
  const here = from.getBoundingClientRect();
  const others = tiles
    .map((tile) => ({ tile, box: tile.getBoundingClientRect() }))
    .filter(({ box }) => (down ? box.top > here.top + 1 : box.top < here.top - 1));
  const line = down ? Math.min(...others.map(({ box }) => box.top)) : Math.max(...others.map(({ box }) => box.top));
  const inLine = others.filter(({ box }) => Math.abs(box.top - line) < 1);
  return inLine.toSorted((a, b) => Math.abs(a.box.left - here.left) - Math.abs(b.box.left - here.left))[0]?.tile;
}

/** Moves the focus between the tiles of a group with the arrow keys. The Tab key reaches only one tile of a group. */
function moveFocus(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const tiles = [...event.currentTarget.querySelectorAll<HTMLElement>('.tile')];
  const from = document.activeElement;
  const at = tiles.indexOf(from as HTMLElement);
  if (at < 0 || !(from instanceof HTMLElement)) return;
  const moves: Readonly<Record<string, () => HTMLElement | undefined>> = {
    ArrowRight: () => tiles[at + 1],
    ArrowLeft: () => tiles[at - 1],
    ArrowDown: () => vertical(tiles, from, true),
    ArrowUp: () => vertical(tiles, from, false),
    Home: () => tiles[0],
    End: () => tiles.at(-1),
  };
  const next = moves[event.key]?.();
  if (next === undefined) return;
  event.preventDefault();
  for (const tile of tiles) tile.tabIndex = tile === next ? 0 : -1;
  next.focus();
}

export const Tiles = ({
  rows,
  label,
  density,
}: {
  rows: readonly Signal<MachineRow>[];
  label: string;
  density: Density;
}) => (
  // biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form
  <div class={`tiles ${density}`} role="group" aria-label={label} onKeyDown={moveFocus}>
    {rows.map((row, index) => (
      <Tile key={row.peek().key} row={row} card={density === 'cards'} tabbable={index === 0} />
    ))}
  </div>
);
